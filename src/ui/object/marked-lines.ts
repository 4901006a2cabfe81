/** The lines of a state, with what became of them since the state before. */

import { diffArrays } from "diff"
import { yamlLines } from "./yaml.ts"

type State = Readonly<Record<string, unknown>>

interface MarkedLine {
  readonly text: string
  readonly mark: "same" | "added" | "removed"
}

/** Lines beyond which they are not compared. */
const mostCompared = 20_000

/** managedFields apart: they are longer than the rest, and seldom asked for. */
export const withoutManagedFields = (state: State): { readonly state: State; readonly managed: number } => {
  const { metadata } = state
  if (typeof metadata !== "object" || metadata === null || !("managedFields" in metadata)) return { state, managed: 0 }
  const { managedFields, ...rest } = metadata
  return { state: { ...state, metadata: rest }, managed: Array.isArray(managedFields) ? managedFields.length : 0 }
}

/** `before`: absent, nothing is marked. */
export const markedLines = (state: State, before: State | undefined): ReadonlyArray<MarkedLine> => {
  const lines = yamlLines(state)
  const old = before === undefined ? undefined : yamlLines(before)
  if (old === undefined || old.length + lines.length > mostCompared)
    return lines.map((text) => ({ text, mark: "same" }))
  return diffArrays([...old], [...lines]).flatMap(({ value, added, removed }) =>
    value.map((text): MarkedLine => ({ text, mark: added ? "added" : removed ? "removed" : "same" })),
  )
}
