/** Equality and stable text of JSON values, members in any order, absent and `undefined` alike. */

/** Semantic equality as controllers need it: an absent member, `undefined`, `null`, `{}` and `[]` are one. */
export const sameJson = (left: unknown, right: unknown): boolean => stableText(left) === stableText(right)

/** JSON with sorted members, without absent and empty ones. */
export const stableText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map((item) => stableText(item)).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const members = Object.entries(value)
    .filter(([, member]) => !isNothing(member))
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${stableText(member)}`)
  return `{${members.join(",")}}`
}

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0)
