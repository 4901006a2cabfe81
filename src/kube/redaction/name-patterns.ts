/**
 * Decides by the bytes of a name whether patterns cover it, and remembers the decision: the same few names come with every event.
 *
 * In a pattern `*` is any text, also none; upper and lower case are the same. A pattern that begins with `/` is compared with what follows the
 * last slash of the name. One that begins with `!` excludes names; the last pattern that matches decides. Matching takes time linear in the
 * name, whatever the pattern.
 */
import { decodeString } from "../scanner/object/canonical-json.ts"
import { TokenMemory } from "./token-memory.ts"

const BACKSLASH = 92

interface NamePattern {
  /** The texts between the stars. */
  readonly parts: ReadonlyArray<string>
  readonly isException: boolean
  readonly isOfTail: boolean
}

export class NamePatterns {
  /** Whether there is none. */
  readonly isEmpty: boolean
  readonly #patterns: ReadonlyArray<NamePattern>
  readonly #decisions = new TokenMemory<boolean>()

  constructor(patterns: ReadonlyArray<string>) {
    this.isEmpty = patterns.length === 0
    this.#patterns = patterns.map(patternOf)
  }

  /** Whether a pattern covers the JSON string `bytes[start, end)`, quotes included. */
  covers(bytes: Buffer, start: number, end: number): boolean {
    const known = this.#decisions.recall(bytes, start, end)
    if (known !== undefined) return known.value
    return this.#decisions.remember(bytes, start, end, this.coversText(textOf(bytes, start, end)))
  }

  /** The same for a text; remembers nothing. */
  coversText(name: string): boolean {
    const whole = name.toLowerCase()
    const tail = whole.slice(whole.lastIndexOf("/") + 1)
    const last = this.#patterns.findLast(({ parts, isOfTail }) => matches(parts, isOfTail ? tail : whole))
    return last !== undefined && !last.isException
  }
}

const patternOf = (written: string): NamePattern => {
  const isException = written.startsWith("!")
  const rest = isException ? written.slice(1) : written
  const isOfTail = rest.startsWith("/")
  return { parts: (isOfTail ? rest.slice(1) : rest).toLowerCase().split("*"), isException, isOfTail }
}

/** The text of the JSON string in [start, end), quotes included. */
export const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.subarray(start, end).includes(BACKSLASH)
    ? decodeString(bytes, start, end)
    : bytes.toString("utf8", start + 1, end - 1)

/** `parts`: the texts between the stars of a pattern. */
const matches = (parts: ReadonlyArray<string>, text: string): boolean => {
  const first = parts[0] as string
  if (parts.length === 1) return text === first
  if (!text.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  const last = parts[parts.length - 1] as string
  return text.length - last.length >= at && text.endsWith(last)
}
