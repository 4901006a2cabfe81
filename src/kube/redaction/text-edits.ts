/**
 * What becomes of strings of which only a part is secret: words of command lines, and addresses. It is remembered by their bytes, because the same few come
 * with every event of an object.
 */

import { valueKinds } from "./redacted-values.ts"
import {
  type CommandNames,
  type RedactedTextOf,
  valueOption,
  withoutPasswords,
  withoutValues,
  withoutWord,
} from "./secret-text.ts"
import { TokenMemory, textOf, type ValueHash } from "./value-hash.ts"

/** Replacements and deletions in a span of bytes, collected in any order and made at once. Reused for every object; allocates nothing per object. */
export class Edits {
  /** The bytes after the last {@link apply}: `bytes[0, length)`. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  /** How many values of each of `valueKinds` the last {@link apply} replaced. */
  readonly replaced = new Uint32Array(valueKinds.length)
  #count = 0
  readonly #starts: Array<number> = []
  readonly #ends: Array<number> = []
  readonly #replacements: Array<Buffer | undefined> = []
  readonly #kinds: Array<number> = []
  readonly #values: Array<number> = []

  get isEmpty(): boolean {
    return this.#count === 0
  }

  clear(): void {
    this.#count = 0
  }

  /**
   * Two edits are the same, apart, or one contains the other, which then has no effect; of two of the same span the first one counts.
   * `replacement`: {@link deleted}, or {@link kept} for a span that no other edit may change. `kind`: the index in `valueKinds` of the `values`
   * that it replaces.
   */
  add(start: number, end: number, replacement: Buffer, kind = 0, values = 0): void {
    // In their order, the longer one first: nearly all are added at the end.
    let at = this.#count++
    for (; at > 0 && isBefore(start, end, this.#starts[at - 1] ?? 0, this.#ends[at - 1] ?? 0); at--) {
      this.#starts[at] = this.#starts[at - 1] ?? 0
      this.#ends[at] = this.#ends[at - 1] ?? 0
      this.#replacements[at] = this.#replacements[at - 1]
      this.#kinds[at] = this.#kinds[at - 1] ?? 0
      this.#values[at] = this.#values[at - 1] ?? 0
    }
    this.#starts[at] = start
    this.#ends[at] = end
    this.#replacements[at] = replacement
    this.#kinds[at] = kind
    this.#values[at] = values
  }

  /** Writes `bytes[start, end)` after all edits to {@link bytes}, whose content the next call replaces. */
  apply(bytes: Buffer, start: number, end: number): void {
    let longest = end - start
    for (let index = 0; index < this.#count; index++) longest += this.#replacements[index]?.length ?? 0
    if (this.bytes.length < longest) this.bytes = Buffer.allocUnsafeSlow(longest * 2)
    const target = this.bytes
    this.replaced.fill(0)
    let from = start
    let to = 0
    for (let index = 0; index < this.#count; index++) {
      const editStart = this.#starts[index] ?? 0
      if (editStart < from) continue
      const replacement = this.#replacements[index] as Buffer
      const until = replacement === kept ? (this.#ends[index] ?? 0) : editStart
      to += bytes.copy(target, to, from, until)
      if (replacement.length > 0) to += replacement.copy(target, to)
      from = this.#ends[index] ?? 0
      const kind = this.#kinds[index] ?? 0
      this.replaced[kind] = (this.replaced[kind] ?? 0) + (this.#values[index] ?? 0)
    }
    this.length = to + bytes.copy(target, to, from, end)
  }
}

/** Nothing stands for the span. */
export const deleted: Buffer = Buffer.alloc(0)
/** The span stands for itself. */
export const kept: Buffer = Buffer.alloc(0)

const isBefore = (start: number, end: number, otherStart: number, otherEnd: number): boolean =>
  start < otherStart || (start === otherStart && end > otherEnd)

/** Bytes of the longest text, and of all texts together, of which is remembered what becomes of them: scripts and manifests come with every event. */
export const longestText = 64 * 1024
export const mostTexts = 1024 * 1024

/** A string as it is recorded. */
export interface TextEdit {
  readonly token: Buffer
  readonly values: number
}

/** Strings are given as `bytes[start, end)`, with their quotes; `undefined`: the string stays as it is. */
export class TextEdits {
  readonly #commands: CommandNames
  readonly #hash: ValueHash
  readonly #hasAddresses: boolean
  readonly #options = new TokenMemory<"value" | "user" | undefined>()
  readonly #words = new TokenMemory<TextEdit | undefined>(longestText, mostTexts)
  readonly #addresses = new TokenMemory<TextEdit | undefined>(longestText, mostTexts)

  constructor(commands: CommandNames, hash: ValueHash, hasAddresses: boolean) {
    this.#commands = commands
    this.#hash = hash
    this.#hasAddresses = hasAddresses
  }

  /** Whether no rule names an option, so that no word of a command line is ever replaced. */
  get isWithoutNames(): boolean {
    return this.#commands.values.isEmpty
  }

  /** Whether the word is an option whose value is the next word; `user`: a name with a password. */
  option(bytes: Buffer, start: number, end: number): "value" | "user" | undefined {
    const known = this.#options.recall(bytes, start, end)
    if (known !== undefined) return known.value
    return this.#options.remember(bytes, start, end, valueOption(textOf(bytes, start, end), this.#commands))
  }

  /** The word after such an option. */
  valueOf(option: "value" | "user", bytes: Buffer, start: number, end: number): TextEdit | undefined {
    return editOf(withoutWord(textOf(bytes, start, end), option, this.#hash))
  }

  /** Any other word, or a whole command line. */
  word(bytes: Buffer, start: number, end: number): TextEdit | undefined {
    const known = this.#words.recall(bytes, start, end)
    if (known !== undefined) return known.value
    const text = textOf(bytes, start, end)
    const found = withoutValues(text, this.#commands, this.#hash)
    // One edit of the string has to do for both.
    const more = this.#hasAddresses ? withoutPasswords(found?.text ?? text, this.#hash) : undefined
    const both = more === undefined ? found : { text: more.text, values: more.values + (found?.values ?? 0) }
    // Not counted as an argument if it is nothing but an address.
    return this.#words.remember(bytes, start, end, found === undefined ? undefined : editOf(both))
  }

  /** A string that has an address in it. */
  address(bytes: Buffer, start: number, end: number): TextEdit | undefined {
    const known = this.#addresses.recall(bytes, start, end)
    if (known !== undefined) return known.value
    const edit = editOf(withoutPasswords(textOf(bytes, start, end), this.#hash))
    return this.#addresses.remember(bytes, start, end, edit)
  }
}

const editOf = (redacted: RedactedTextOf | undefined): TextEdit | undefined =>
  redacted && { token: Buffer.from(JSON.stringify(redacted.text)), values: redacted.values }
