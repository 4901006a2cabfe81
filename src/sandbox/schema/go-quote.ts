/** Strings as Go's `strconv.Quote` prints them: the server's messages quote field paths and values with it. */

const simple: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
}

const plain = /^[ !#-[\]-~]*$/
/** What Go calls printable: letters, marks, numbers, punctuation, symbols and the ASCII space. */
const printable = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u

/** `text` in double quotes. A lone surrogate becomes U+FFFD, as Go's JSON decoder makes of it. */
export const goQuote = (text: string): string => {
  if (plain.test(text)) return `"${text}"`
  let quoted = '"'
  for (const character of text.toWellFormed()) {
    const code = character.codePointAt(0) ?? 0
    const escaped = simple[character]
    if (escaped !== undefined) quoted += escaped
    else if (printable.test(character)) quoted += character
    else if (code < 0x80) quoted += `\\x${code.toString(16).padStart(2, "0")}`
    else if (code < 0x10000) quoted += `\\u${code.toString(16).padStart(4, "0")}`
    else quoted += `\\U${code.toString(16).padStart(8, "0")}`
  }
  return `${quoted}"`
}
