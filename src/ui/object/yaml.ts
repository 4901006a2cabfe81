/**
 * Objects as `kubectl get -o yaml` prints them: keys in its order, its choice of quotes and blocks, lines folded after column 80.
 *
 * Guarantee: a YAML 1.1 parser gives the value back. Characters that are not seen, or that turn the direction of text, are escaped, where kubectl prints some
 * of them as they are; so are two texts that some parsers take for something else: `.` and `<<`.
 */

const best = 80

/** Lines without line breaks. */
export const yamlLines = (value: unknown): ReadonlyArray<string> => {
  const lines: string[] = []
  write(lines, "", 0, value)
  return lines
}

/** `start`: what is before the value in its first line; `indent`: of the lines below. */
const write = (lines: string[], start: string, indent: number, value: unknown): void => {
  if (Array.isArray(value)) {
    if (value.length === 0) lines.push(`${start}[]`)
    else writeList(lines, start, indent, value)
  } else if (typeof value === "object" && value !== null) {
    const keys = Object.keys(value).sort(byKey)
    if (keys.length === 0) lines.push(`${start}{}`)
    else writeMembers(lines, start, indent, { keys, members: value as Readonly<Record<string, unknown>> })
  } else if (typeof value === "string") lines.push(...textLines(start, value, indent))
  else lines.push(start + (typeof value === "number" ? numberText(value) : String(value)))
}

const writeList = (lines: string[], start: string, indent: number, list: ReadonlyArray<unknown>): void => {
  const margin = " ".repeat(indent)
  list.forEach((item, index) => {
    const lead = index === 0 && isOpen(start) ? start : margin
    write(lines, `${lead}- `, indent + 2, item)
  })
}

interface Members {
  readonly keys: ReadonlyArray<string>
  readonly members: Readonly<Record<string, unknown>>
}

const writeMembers = (lines: string[], start: string, indent: number, { keys, members }: Members): void => {
  const margin = " ".repeat(indent)
  keys.forEach((key, index) => {
    const value = members[key]
    const lead = `${index === 0 && isOpen(start) ? start : margin}${keyText(key)}:`
    const isNested = typeof value === "object" && value !== null && Object.keys(value).length > 0
    if (isNested) {
      lines.push(lead)
      // Lists are not indented below their key.
      write(lines, "", Array.isArray(value) ? indent : indent + 2, value)
    } else write(lines, `${lead} `, indent + 2, value)
  })
}

/** Whether what follows goes into the line that was begun: behind a dash. */
const isOpen = (start: string): boolean => start !== ""

const numberText = (value: number): string => {
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential().replace(/e-(\d)$/, "e-0$1")
  return String(value)
}

const keyText = (key: string): string => {
  const style = styleOf(key)
  if (style === "plain") return key
  return style === "single" ? singleQuoted(key) : doubleQuoted(key)
}

const textLines = (start: string, text: string, indent: number): ReadonlyArray<string> => {
  const margin = " ".repeat(indent)
  const style = styleOf(text)
  if (style === "block") return blockLines(start, text, margin)
  if (style === "plain") return folded(start, text, margin)
  if (style === "single") return folded(start, singleQuoted(text), margin)
  return foldedDouble(start, doubleQuoted(text), margin)
}

/** The sign of a block says what its last line breaks are, and, where the first line begins with a space, the indentation. */
const blockLines = (start: string, text: string, margin: string): ReadonlyArray<string> => {
  const hint = /^[ \n]/.test(text) ? "2" : ""
  const chomp = !text.endsWith("\n") ? "-" : text === "\n" || text.endsWith("\n\n") ? "+" : ""
  const lines = (chomp === "-" ? text : text.slice(0, -1)).split("\n")
  return [`${start}|${hint}${chomp}`, ...lines.map((line) => (line === "" ? "" : margin + line))]
}

/** Breaks a line at the first single space after column 80. */
const folded = (start: string, text: string, margin: string): ReadonlyArray<string> => {
  const lines: string[] = []
  let line = start
  let column = [...start].length
  const characters = [...text]
  characters.forEach((character, index) => {
    const isBreak =
      character === " " &&
      column > best &&
      index > 0 &&
      index < characters.length - 2 &&
      characters[index - 1] !== " " &&
      characters[index + 1] !== " "
    if (isBreak) {
      lines.push(line)
      line = margin
      column = margin.length
      return
    }
    line += character
    column++
  })
  return [...lines, line]
}

/** In double quotes a space may be followed by another one: then the next line says with a backslash where it begins. */
const foldedDouble = (start: string, text: string, margin: string): ReadonlyArray<string> => {
  const lines: string[] = []
  let line = start
  let isAfterSpace = false
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? ""
    const isInside = index > 1 && index < text.length - 2
    if (character === " " && !isAfterSpace && isInside && line.length > best) {
      lines.push(line)
      line = margin + (text[index + 1] === " " ? "\\" : "")
      isAfterSpace = true
      continue
    }
    line += character
    isAfterSpace = character === " "
  }
  return [...lines, line]
}

const singleQuoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

const shortEscapes: Readonly<Record<string, string>> = {
  ...{ "\0": "\\0", "\u0007": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r" },
  ...{ "\u001b": "\\e", '"': '\\"', "\\": "\\\\", "\u0085": "\\N", "\u2028": "\\L", "\u2029": "\\P" },
}

const doubleQuoted = (text: string): string =>
  `"${text
    .replace(/["\\]/g, (found) => `\\${found}`)
    .replace(hidden, (found) => {
      const code = found.codePointAt(0) ?? 0
      const hex = code.toString(16).toUpperCase()
      const wide = code > 0xffff ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`
      return shortEscapes[found] ?? (code < 0x100 ? `\\x${hex.padStart(2, "0")}` : wide)
    })}"`

/** What kubectl escapes, halves of characters, and what is not seen. */
const hidden =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is replaced
  /[\u0000-\u001F\u007F-\u009F\u00AD\u061C\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB\uFFFE\uFFFF\u{D800}-\u{DFFF}\u{10000}-\u{10FFFF}]/gu

type Style = "plain" | "single" | "double" | "block"

const styleOf = (text: string): Style => {
  if (isOtherType(text)) return "double"
  const isMultiline = text.includes("\n")
  const rest = isMultiline ? text.replaceAll("\n", "") : text
  hidden.lastIndex = 0
  if (hidden.test(rest) || / \n/.test(text)) return "double"
  if (isMultiline) return text.endsWith(" ") ? "double" : "block"
  const isPlain =
    !/^[#,[\]{}&*!|>'"%@`]|^[-?:](?:\s|$)|^---|^\.\.\.|^ | $|: |:$| #/.test(text) && !/^[?:]\s?$/.test(text)
  return isPlain ? "plain" : "single"
}

/** Whether the text without quotes would be no text: YAML 1.1 has many words for truth, and numbers with colons. */
const isOtherType = (text: string): boolean => {
  if (text === "" || words.test(text) || date.test(text) || sixties.test(text)) return true
  return number.test(text.replaceAll("_", ""))
}

const words =
  /^(?:\.|<<|~|null|Null|NULL|y|Y|yes|Yes|YES|n|N|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/
const number =
  /^(?:[-+]?(?:0b[01]+|0o[0-7]+|0x[\da-fA-F]+|(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN))$/i
const sixties = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/
const date = /^\d{4}-\d{1,2}-\d{1,2}(?:[Tt ]\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?(?:Z|[-+]\d\d:\d\d)?)?$/

/** The order in which kubectl prints keys: letters last, numbers by their value. */
const byKey = (one: string, other: string): number => {
  const [a, b] = [[...one], [...other]]
  for (let index = 0; index < a.length && index < b.length; index++) {
    const [x, y] = [a[index] ?? "", b[index] ?? ""]
    if (x === y) continue
    const [isLetter, isOtherLetter] = [/\p{L}/u.test(x), /\p{L}/u.test(y)]
    if (isLetter !== isOtherLetter) return isLetter ? 1 : -1
    if (isLetter) return x < y ? -1 : 1
    return byNumber([a, b], index) || ((x.codePointAt(0) ?? 0) < (y.codePointAt(0) ?? 0) ? -1 : 1)
  }
  return a.length - b.length
}

const byNumber = ([a, b]: readonly [ReadonlyArray<string>, ReadonlyArray<string>], from: number): number => {
  const isAfterNumber = (a[from] === "0" || b[from] === "0") && /[1-9]\d*$/.test(a.slice(0, from).join(""))
  const lead = isAfterNumber ? "1" : ""
  const digitsOf = (characters: ReadonlyArray<string>): string =>
    /^\d*/.exec(characters.slice(from).join(""))?.[0] ?? ""
  const [x, y] = [digitsOf(a), digitsOf(b)]
  return Number(lead + x) - Number(lead + y) || x.length - y.length
}
