/** Values of fields as text, and where two texts differ. */

import { diffLines, diffWordsWithSpace } from "diff"
import type { Author, FieldChange, Manager, ObjectChange } from "../source/source.ts"
import { visible } from "../text/shown-text.ts"

/** Characters of a value that are shown until all are asked for. */
export const shortValue = 140

/** Characters beyond which a value is not compared word by word: it takes time with the square of what differs. */
const mostCompared = 20_000

/** JSON; texts without quotes where that is no other value. */
export const valueText = (value: unknown): string => {
  if (value === undefined) return ""
  if (typeof value === "string" && value !== "" && !/^[\s"\d[{-]|^(?:true|false|null)$|\s$/.test(value)) return value
  return JSON.stringify(value) ?? ""
}

/** A stretch of a text that was removed, was added, or is in both. */
interface TextPart {
  readonly text: string
  readonly side: "before" | "after" | "both"
}

/** `undefined`: the two have too little in common, so that they are better shown one after the other. */
export const textParts = ({ before, after }: FieldChange): ReadonlyArray<TextPart> | undefined => {
  if (typeof before !== "string" || typeof after !== "string") return undefined
  const size = before.length + after.length
  if (size < 48 || size > mostCompared) return undefined
  const isOfLines = before.includes("\n") || after.includes("\n")
  const found = isOfLines ? diffLines(before, after) : diffWordsWithSpace(before, after)
  const parts = found.map(
    ({ value, added, removed }): TextPart => ({ text: value, side: added ? "after" : removed ? "before" : "both" }),
  )
  const common = parts.reduce((sum, { text, side }) => sum + (side === "both" ? text.length : 0), 0)
  return common * 4 < size ? undefined : parts
}

const edge = 36

/** The middle of a long stretch that is in both. */
export const shortened = (text: string): string =>
  text.length <= 3 * edge ? text : `${text.slice(0, edge)} … ${text.slice(-edge)}`

const words: Readonly<Record<ObjectChange["type"], string>> = {
  created: "created",
  appeared: "first seen",
  changed: "changed",
  deleted: "deleted",
  vanished: "gone",
}

export const changeWord = ({ type }: Pick<ObjectChange, "type">): string => words[type]

/** `kubectl-edit, status by kubelet`; empty: the object does not say. */
export const managersText = (managers: ReadonlyArray<Manager>): string => {
  const parts = new Map<string, Set<string>>()
  for (const { manager, subresource } of managers) {
    const names = parts.get(subresource) ?? new Set()
    parts.set(subresource, names.add(manager))
  }
  return [...parts]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([part, names]) => visible(`${part === "" ? "" : `${part} by `}${[...names].join(", ")}`))
    .join("; ")
}

/** Who it was, in one line: the user where the audit log says it, else what wrote. */
export const writerText = ({ author, managers }: Pick<ObjectChange, "author" | "managers">): string =>
  visible(author === undefined ? [...new Set(managers.map(({ manager }) => manager))].join(", ") : author.user)

/** What is known of a user, a line each. */
export const authorLines = ({
  user,
  groups,
  userAgent,
  sourceIPs,
  verb,
  auditID,
  isInferred,
}: Author): ReadonlyArray<readonly [string, string]> =>
  [
    ["user", isInferred ? `${user} (by time)` : user] as const,
    ["verb", verb] as const,
    ["groups", groups.join(", ")] as const,
    ["user agent", userAgent] as const,
    ["from", sourceIPs.join(", ")] as const,
    ["audit ID", auditID] as const,
  ].flatMap(([label, text]) => (text === "" ? [] : [[label, visible(text, 500)] as const]))
