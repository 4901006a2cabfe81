/**
 * How Go prints the value of a field into an error message: `%v` for numbers and booleans, `%q` for strings, JSON with
 * sorted map keys and escaped HTML for the rest.
 */

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, "0")

const quotedEscapes = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\v", "\\v"],
])

/** `strconv.Quote`, except that every character beyond ASCII that Unicode calls a letter, mark, number, sign or mark of punctuation passes. */
export const goQuote = (text: string): string => {
  let quoted = ""
  for (const character of text) {
    const known = quotedEscapes.get(character)
    const code = character.codePointAt(0) ?? 0
    if (known !== undefined) quoted += known
    else if (/^[ \p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(character)) quoted += character
    else if (code < 0x80) quoted += `\\x${hex(code, 2)}`
    else quoted += code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`
  }
  return `"${quoted}"`
}

/** A Go struct without JSON tags, as the server's internal types are: printed in the order of its fields. */
export class GoStruct {
  readonly fields: ReadonlyArray<readonly [name: string, value: unknown]>

  constructor(fields: ReadonlyArray<readonly [name: string, value: unknown]>) {
    this.fields = fields
  }
}

/** `json.Marshal` of a map: keys sorted, `<`, `>` and `&` escaped. */
export const goJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(goJson).join(",")}]`
  if (value instanceof GoStruct)
    return `{${value.fields.map(([name, member]) => `"${name}":${goJson(member)}`).join(",")}}`
  return JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${hex(character.charCodeAt(0), 4)}`,
  )
}

/** Structs whose fields do not come in alphabetical order; all keys of the first list must be there. */
const structs: ReadonlyArray<readonly [always: ReadonlyArray<string>, maybe: ReadonlyArray<string>]> = [
  [["matchLabels", "matchExpressions"], []],
  [
    ["apiVersion", "kind", "name", "uid"],
    ["controller", "blockOwnerDeletion"],
  ],
]

/** The keys in the order in which Go prints them. */
const orderedKeys = (value: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const keys = Object.keys(value).sort()
  for (const [always, maybe] of structs) {
    const order = [...always, ...maybe]
    if (always.every((key) => key in value) && keys.every((key) => order.includes(key)))
      return order.filter((key) => key in value)
  }
  return keys
}

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value ?? null
  const object: Readonly<Record<string, unknown>> = { ...value }
  return Object.fromEntries(orderedKeys(object).map((key) => [key, sorted(object[key])]))
}

export const goValue = (value: unknown): string => {
  if (typeof value === "string") return goQuote(value)
  if (typeof value === "number" || typeof value === "boolean") return String(value)
  return goJson(value)
}
