/**
 * What becomes of strings of which only a part is secret: words of command lines, and addresses. It is remembered by their bytes, because the same few come
 * with every event of an object.
 */
import { textOf } from "./name-patterns.ts"
import {
  type CommandNames,
  type RedactedTextOf,
  valueOption,
  withoutPasswords,
  withoutValues,
  withoutWord,
} from "./secret-text.ts"
import { TokenMemory } from "./token-memory.ts"
import type { ValueHash } from "./value-hash.ts"

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
