/**
 * Decides by the bytes of a name whether a pattern covers it, and remembers the decision: the same few names come with every event.
 *
 * In a pattern `*` is any text, also none; upper and lower case are the same. Matching takes time linear in the name, whatever the pattern.
 */
import { decodeString } from "../scanner/json/canonical-json.ts"

/** Decisions remembered, some 100 bytes each; names longer than this many bytes are decided each time. */
const mostRemembered = 4096
const longestRemembered = 256

const BACKSLASH = 92

/** A name as it is written, quotes included, and the decision. */
interface Decision {
  readonly token: Buffer
  readonly isCovered: boolean
}

export class NamePatterns {
  /** Whether there is none. */
  readonly isEmpty: boolean
  readonly #patterns: ReadonlyArray<ReadonlyArray<string>>
  /** By a hash of the token; of two tokens with the same hash, the later one is remembered. No string is made for one that is. */
  readonly #decisions = new Map<number, Decision>()

  constructor(patterns: ReadonlyArray<string>) {
    this.isEmpty = patterns.length === 0
    this.#patterns = patterns.map((pattern) => pattern.toLowerCase().split("*"))
  }

  /** Whether a pattern covers the JSON string `bytes[start, end)`, quotes included. */
  covers(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > longestRemembered) return this.#coversText(textOf(bytes, start, end))
    let hash = end - start
    for (let at = start + 1; at < end - 1; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193)
    const known = this.#decisions.get(hash)
    if (known !== undefined && isToken(known.token, bytes, start, end)) return known.isCovered
    const isCovered = this.#coversText(textOf(bytes, start, end))
    if (this.#decisions.size >= mostRemembered) this.#decisions.clear()
    this.#decisions.set(hash, { token: Buffer.from(bytes.subarray(start, end)), isCovered })
    return isCovered
  }

  #coversText(name: string): boolean {
    const text = name.toLowerCase()
    return this.#patterns.some((parts) => isCovered(parts, text))
  }
}

const isToken = (token: Buffer, bytes: Buffer, start: number, end: number): boolean => {
  const { length } = token
  if (length !== end - start) return false
  let at = 1
  while (at < length && token[at] === bytes[start + at]) at++
  return at >= length
}

/** The text of the JSON string in [start, end), quotes included. */
export const textOf = (bytes: Buffer, start: number, end: number): string =>
  bytes.subarray(start, end).includes(BACKSLASH)
    ? decodeString(bytes, start, end)
    : bytes.toString("utf8", start + 1, end - 1)

/** `parts`: the texts between the stars of a pattern. */
const isCovered = (parts: ReadonlyArray<string>, text: string): boolean => {
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
