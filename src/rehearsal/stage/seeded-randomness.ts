/** Random values that are the same in each run: Mulberry32, which is enough for names, UIDs and jitter, and for nothing secret. */
import type { Randomness } from "../../sandbox/store/stamps.ts"

export interface SeededRandomness extends Randomness {
  /** In [0, 1). */
  next(): number
  fill(bytes: Uint8Array): void
}

/** No vowels, no 0, 1 and 3, as the real server's suffixes. */
const letters = "bcdfghjklmnpqrstvwxz2456789"

/** `seed`: an integer; each gives another sequence. */
export const seededRandomness = (seed: number): SeededRandomness => {
  let state = seed >>> 0
  const word = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const next = (): number => word() / 2 ** 32
  const fill = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = word() & 0xff
  }
  return {
    next,
    fill,
    uid: () => {
      const bytes = new Uint8Array(16)
      fill(bytes)
      bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
      bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
      const digits = Buffer.from(bytes).toString("hex")
      return [0, 8, 12, 16, 20].map((from, part) => digits.slice(from, [8, 12, 16, 20, 32][part])).join("-")
    },
    suffix: (length) => Array.from({ length }, () => letters[Math.floor(next() * letters.length)]).join(""),
  }
}
