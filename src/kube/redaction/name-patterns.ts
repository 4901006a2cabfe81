/**
 * Decides by the bytes of a name whether a pattern covers it, and remembers the decision: the same few names come with every event.
 *
 * In a pattern `*` is any text, also none; upper and lower case are the same. Matching takes time linear in the name, whatever the pattern.
 */
import { decodeString } from "../scanner/json/canonical-json.ts"
import { TokenMemory } from "./token-memory.ts"

const BACKSLASH = 92

export class NamePatterns {
  /** Whether there is none. */
  readonly isEmpty: boolean
  readonly #patterns: ReadonlyArray<ReadonlyArray<string>>
  readonly #decisions = new TokenMemory<boolean>()

  constructor(patterns: ReadonlyArray<string>) {
    this.isEmpty = patterns.length === 0
    this.#patterns = patterns.map((pattern) => pattern.toLowerCase().split("*"))
  }

  /** Whether a pattern covers the JSON string `bytes[start, end)`, quotes included. */
  covers(bytes: Buffer, start: number, end: number): boolean {
    const known = this.#decisions.recall(bytes, start, end)
    if (known !== undefined) return known.value
    const text = textOf(bytes, start, end).toLowerCase()
    const isCovered = this.#patterns.some((parts) => coversText(parts, text))
    return this.#decisions.remember(bytes, start, end, isCovered)
  }
}

/** The text of the JSON string in [start, end), quotes included. */
export const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.subarray(start, end).includes(BACKSLASH)
    ? decodeString(bytes, start, end)
    : bytes.toString("utf8", start + 1, end - 1)

/** `parts`: the texts between the stars of a pattern. */
const coversText = (parts: ReadonlyArray<string>, text: string): boolean => {
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
