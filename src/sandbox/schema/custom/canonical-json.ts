/** JSON with the members of objects sorted: equal values have equal texts. Values deeper than 1,000 levels become `null`. */
export const canonicalJson = (value: unknown, depth = 0): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  if (depth > 1000) return "null"
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, depth + 1)).join(",")}]`
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item, depth + 1)}`).join(",")}}`
}
