/**
 * Field selectors over the two fields that every kind supports, `metadata.name` and `metadata.namespace`. The real
 * server knows a few more for some kinds (`spec.nodeName` of Pods); asking for those is answered with its 400.
 */

import { SelectorError } from "./label-selector.ts"

export interface FieldRequirement {
  readonly field: "metadata.name" | "metadata.namespace"
  readonly equal: boolean
  readonly value: string
}

/** All of them must hold; no requirement matches everything. */
export type FieldSelector = ReadonlyArray<FieldRequirement>

export const matchesFields = (
  selector: FieldSelector,
  object: { readonly name: string; readonly namespace: string },
): boolean =>
  selector.every(({ field, equal, value }) => {
    const actual = field === "metadata.name" ? object.name : object.namespace
    return (actual === value) === equal
  })

/** Throws {@link SelectorError}. Empty terms are skipped, as the server skips them. */
export const parseFieldSelector = (text: string): FieldSelector =>
  text
    .split(",")
    .filter((term) => term !== "")
    .map((term) => {
      const [, field = "", operator = "", value = ""] = /^(.*?)(!=|==|=)(.*)$/s.exec(term) ?? []
      if (operator === "") {
        throw new SelectorError({ problem: `invalid selector: '${text}'; can't understand '${term}'` })
      }
      if (field !== "metadata.name" && field !== "metadata.namespace") {
        throw new SelectorError({
          problem: `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`,
        })
      }
      return { field, equal: operator !== "!=", value }
    })
