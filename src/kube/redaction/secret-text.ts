/**
 * Finds secret values inside texts: in command lines by the names of options, variables and headers, in addresses by their place.
 *
 * A command line is read as people write it, not as a shell would: options (`--password=x`, `--token x`), assignments (`PGPASSWORD=x`), members of
 * JSON and YAML, headers (`Authorization: Bearer x`), and `-u user:x`. A value ends where a shell ends a word; where that is unclear, too much is
 * replaced rather than too little. What only refers to a value stays: `$(NAME)`, `$NAME`, names of files, `true` and `false`.
 *
 * Time is linear in the text.
 */
import type { NamePatterns } from "./redaction-rules.ts"
import { redactedForm, type ValueHash } from "./value-hash.ts"

/** The names by which values are found in command lines. */
export interface CommandNames {
  /** Of options, variables and members, in the form of {@link variableName}. */
  readonly values: NamePatterns
  readonly headers: NamePatterns
}

/** What stands for a text in which values are replaced, and how many of them are. */
export interface RedactedTextOf {
  readonly text: string
  readonly values: number
}

/** `spring.datasource.password`, `db-password` and `dbPassword` as variables are spelled. */
const variableName = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/[.-]/g, "_")

/** Collects replacements in one text, in order. */
class Replacements {
  #written = ""
  #from = 0
  count = 0
  readonly #text: string
  readonly #hash: ValueHash

  constructor(text: string, hash: ValueHash) {
    this.#text = text
    this.#hash = hash
  }

  /** Replaces [start, end), unless it stands for a value already. */
  add(start: number, end: number): void {
    const value = this.#text.slice(start, end)
    if (value === "" || redactedForm.test(value)) return
    this.#written += this.#text.slice(this.#from, start) + this.#hash.of(value)
    this.#from = end
    this.count++
  }

  get result(): RedactedTextOf | undefined {
    return this.count === 0 ? undefined : { text: this.#written + this.#text.slice(this.#from), values: this.count }
  }
}

/** Signs that an address cannot contain, so that it ends before them. */
const addressEnd = /[\s"<>`]/g
/** A user name that is no person's: services take a token in its place. */
const shortestToken = 20

/**
 * The text without the passwords of addresses (`scheme://user:password@host`), and without user names of 20 characters or more, which are
 * tokens; `undefined` if there are none. A password may contain `/` unescaped if what is before it cannot be a host and a port.
 */
export const withoutPasswords = (text: string, hash: ValueHash): RedactedTextOf | undefined => {
  const replaced = new Replacements(text, hash)
  let end = 0
  for (let at = text.indexOf("://"); at >= 0; ) {
    const start = at + 3
    if (start > end) {
      addressEnd.lastIndex = start
      end = addressEnd.exec(text)?.index ?? text.length
    }
    const next = text.indexOf("://", start)
    // Of several addresses in one word, each ends before the next one.
    const until = next >= 0 && next < end ? next : end
    const userEnd = userEndOf(text, start, until)
    if (userEnd > start) replaceUser(text, start, userEnd, replaced)
    at = next
  }
  return replaced.result
}

/** Position of the `@` that ends the user of the address; -1: it has none. */
const userEndOf = (text: string, start: number, end: number): number => {
  const address = text.slice(start, end)
  const path = address.search(/[/?#]/)
  const authority = path < 0 ? address : address.slice(0, path)
  const last = authority.lastIndexOf("@")
  if (last >= 0) return start + last
  const colon = authority.indexOf(":")
  const isHostAndPort = colon < 0 || /^[\d,]*$|^\$/.test(authority.slice(colon + 1)) || authority.startsWith("[")
  return isHostAndPort ? -1 : start + address.lastIndexOf("@")
}

const replaceUser = (text: string, start: number, end: number, replaced: Replacements): void => {
  const isUserReplaced = /^redacted:[0-9a-f]{16}(?=[:@])/.test(text.slice(start, end + 1))
  const colon = isUserReplaced ? start + 25 : text.indexOf(":", start)
  const userEnd = colon >= 0 && colon < end ? colon : end
  if (userEnd - start >= shortestToken && !isReference(text.slice(start, userEnd))) replaced.add(start, userEnd)
  if (userEnd + 1 < end && !isReference(text.slice(userEnd + 1, end))) replaced.add(userEnd + 1, end)
}

/** Whether a value only names where the real one is, or is none. */
const isReference = (value: string): boolean => /^(?:\$\([^()]*\)|\$\{\w+\}|\$\w+)+$|^(?:true|false)$/i.test(value)

const isFileName = (value: string): boolean => /^[\w./-]*\/[\w.-]+\.[A-Za-z]\w{1,4}$/.test(value)

const isName = (value: string): boolean => isReference(value) || isFileName(value)

/** The text, a whole command line or one word of it, without the values that follow names; `undefined` if there are none. */
export const withoutValues = (
  text: string,
  { values, headers }: CommandNames,
  hash: ValueHash,
): RedactedTextOf | undefined => {
  const replaced = new Replacements(text, hash)
  // One word with whatever it contains: no script begins with an option.
  const option = /^-+([A-Za-z_][\w.-]*)=/.exec(text)
  const [prefix = "", name = ""] = option ?? []
  if (option !== null && values.coversText(variableName(name))) {
    const start = prefix.length
    if (!isName(text.slice(start))) replaced.add(start, text.length)
    return replaced.result
  }
  const word = /[A-Za-z_][\w.-]*/g
  for (let match = word.exec(text); match !== null; match = word.exec(text)) {
    const [name] = match
    const end = word.lastIndex
    const separator = separatorAfter(text, end)
    const isOption = text[match.index - 1] === "-"
    let until = -1
    if (separator.sign === ":" && headers.coversText(name)) until = replaceHeader(text, separator.end, replaced)
    else if (separator.sign === "" && !(isOption && separator.end > end && text[separator.end] !== "-")) continue
    else if (isOption && isUserOption(name)) until = replaceAfterColon(text, separator.end, replaced)
    else if (values.coversText(variableName(name))) until = replaceWord(text, separator, replaced)
    if (until > end) word.lastIndex = until
  }
  return replaced.result
}

/** Whether `text` is an option whose value is the next word of the command line; the value of `user` has a name before the password. */
export const valueOption = (text: string, { values }: CommandNames): "value" | "user" | undefined => {
  const name = /^-+([A-Za-z_][\w.-]*)$/.exec(text)?.[1]
  if (name === undefined) return undefined
  if (isUserOption(name)) return "user"
  return values.coversText(variableName(name)) ? "value" : undefined
}

/** The word after such an option; `undefined` if it stays. */
export const withoutWord = (text: string, kind: "value" | "user", hash: ValueHash): RedactedTextOf | undefined => {
  const replaced = new Replacements(text, hash)
  if (kind === "user") replaceAfterColon(text, 0, replaced)
  else if (!text.startsWith("-") && !isName(text)) replaced.add(0, text.length)
  return replaced.result
}

const isUserOption = (name: string): boolean => name === "u" || name === "user" || name === "proxy-user"

/** `=` or `:` after a name that may be quoted, and where the value begins; "": there is none, only white space. */
interface Separator {
  readonly sign: string
  readonly end: number
}

const separatorAfter = (text: string, position: number): Separator => {
  let at = position
  while (at < position + 4 && (text[at] === "\\" || text[at] === '"' || text[at] === "'")) at++
  const quoted = at
  while (text[at] === " " || text[at] === "\t") at++
  const sign = text[at]
  if ((sign !== "=" && sign !== ":") || text.startsWith("://", at))
    return { sign: "", end: quoted === position ? at : position }
  at++
  while (text[at] === " " || text[at] === "\t" || text[at] === "=") at++
  return { sign, end: at }
}

/** Signs that end a word in a shell. */
const wordEnd = /[\s;|&<>()`]/

/** Position after the quoted text that begins at `position` with a quote, or with one that is escaped; and of what is in it. */
const quotedAt = (text: string, position: number) => {
  let at = position
  while (text[at] === "\\") at++
  const opening = text.slice(position, at + 1)
  const quote = opening.at(-1)
  const start = at + 1
  let end = text.indexOf(opening, start)
  if (opening === '"') {
    end = start
    while (end < text.length && text[end] !== quote) end += text[end] === "\\" ? 2 : 1
  }
  if (end < 0 || end > text.length) end = text.length
  return { start, end, after: Math.min(text.length, end + opening.length) }
}

const isQuote = (text: string, position: number): boolean => {
  let at = position
  while (text[at] === "\\" && at < position + 8) at++
  return text[at] === '"' || text[at] === "'"
}

/** Replaces the word after a separator, quotes around it excepted; returns the position after it. Members of JSON end with their quote. */
const replaceWord = (text: string, { sign, end: position }: Separator, replaced: Replacements): number => {
  let at = position
  let parts = 0
  let quoted: ReturnType<typeof quotedAt> | undefined
  while (at < text.length && !wordEnd.test(text.charAt(at))) {
    parts++
    if (isQuote(text, at)) {
      quoted = quotedAt(text, at)
      at = quoted.after
      if (parts === 1 && (sign === ":" || text[position] === "\\")) break
    } else at += text[at] === "\\" ? 2 : 1
  }
  at = Math.min(at, text.length)
  const isWhole = parts === 1 && quoted !== undefined
  const [start, end] = isWhole ? [quoted?.start ?? 0, quoted?.end ?? 0] : [position, at]
  const value = text.slice(start, end)
  // `$(` begins a command in a shell, or a variable of the container.
  const isCommand = value === "$" && text[end] === "("
  if (!isCommand && !isName(value)) replaced.add(start, end)
  return at
}

/** Replaces the value of a header up to the end of the line or the quote around it. */
const replaceHeader = (text: string, position: number, replaced: Replacements): number => {
  if (isQuote(text, position)) return replaceWord(text, { sign: ":", end: position }, replaced)
  const rest = text.slice(position)
  const length = rest.search(/\\?["'\n]/)
  const end = length < 0 ? text.length : position + length
  if (
    !isName(
      text
        .slice(position, end)
        .replace(/^\w+\s+/, "")
        .trim(),
    )
  )
    replaced.add(position, end)
  return end
}

/** Replaces what is after the colon of `user:password`. */
const replaceAfterColon = (text: string, position: number, replaced: Replacements): number => {
  const found = /^["']?[^\s:"'=/]+:([^\s"']+)/.exec(text.slice(position, position + 4096))
  if (found === null || /^["']?\d+:\d+$/.test(found[0])) return position
  const end = position + found[0].length
  const [, password = ""] = found
  if (!isName(password)) replaced.add(end - password.length, end)
  return end
}
