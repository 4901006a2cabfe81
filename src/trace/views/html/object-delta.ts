/**
 * What an object's bytes differ in from another state of the same object: a few edits, found in one pass. The rest of both is the same.
 *
 * Not the smallest difference: what moves within an object is written twice. It takes 1 µs for an object of 3 kB, and the result is compressed.
 */

import type { ByteWriter } from "./byte-writer.ts"

/** Bytes in an aligned memory, so that four of them are compared at once. */
export class AlignedBytes {
  readonly bytes: Buffer
  readonly words: Int32Array

  constructor(size: number) {
    const memory = new ArrayBuffer(Math.ceil(size / 4) * 4)
    this.bytes = Buffer.from(memory)
    this.words = new Int32Array(memory)
  }
}

/** Bytes after an edit that must be the same for it to be over. */
const AGREEMENT = 6
/** Bytes within which an edit that leaves the length as it was is looked for. */
const NEAR = 48
/** Where in the earlier state bytes are looked for that the later one has too. */
const anchorsAt = [0, 8, 24, 64, 160, 400, 1000]
const ANCHOR = 20

/** Finds edits. One for one encoder: it keeps memory from object to object. */
export class DeltaFinder {
  /** In turn: bytes that are the same, bytes of the earlier state to leave out, from where to where to take bytes of the later one. */
  readonly edits: number[] = []
  /** Bytes that the edits take, about. */
  size = 0
  /** What differs at most. `digits`: nothing but digits, `:`, `-` and `.`, so neither names nor structure. `texts`: that, and only within texts: no number. */
  differ: "texts" | "digits" | "anything" = "texts"

  /** Finds what leads from `size` bytes at `at` (divisible by 4) of `earlier` to the first `length` bytes of `later`. */
  find(earlier: AlignedBytes, at: number, size: number, later: AlignedBytes, length: number): void {
    const { edits } = this
    edits.length = 0
    this.size = 0
    this.differ = "texts"
    const [old, now] = [earlier.bytes, later.bytes]
    const end = at + size
    let [from, to] = [at, 0]
    for (;;) {
      const same = this.#same(earlier, from, end, later, to, length)
      from += same
      to += same
      if (from === end && to === length) return
      const [skipped, added] = this.#edit(old, from, end, now, to, length)
      edits.push(same, skipped, to, to + added)
      this.size += 3 + added
      if (!areDigits(old, from, skipped) || !areDigits(now, to, added)) this.differ = "anything"
      else if (this.differ === "texts" && !isInText(now, to)) this.differ = "digits"
      from += skipped
      to += added
    }
  }

  /** Appends what was found. */
  write(later: AlignedBytes, out: ByteWriter): void {
    const { edits } = this
    for (let index = 0; index < edits.length; index += 4) {
      const [same = 0, skipped = 0, begin = 0, end = 0] = [
        edits[index],
        edits[index + 1],
        edits[index + 2],
        edits[index + 3],
      ]
      out.number(same)
      out.number(skipped)
      out.number(end - begin)
      out.append(later.bytes, begin, end)
    }
  }

  #same(earlier: AlignedBytes, from: number, end: number, later: AlignedBytes, to: number, length: number): number {
    const [old, now] = [earlier.bytes, later.bytes]
    const limit = Math.min(end - from, length - to)
    let same = 0
    if ((from & 3) === (to & 3)) {
      while (same < limit && ((to + same) & 3) !== 0 && old[from + same] === now[to + same]) same++
      if (((to + same) & 3) === 0) {
        let [one, other] = [(from + same) >> 2, (to + same) >> 2]
        const last = (to + limit) >> 2
        while (other < last && earlier.words[one] === later.words[other]) {
          one++
          other++
        }
        same = Math.max(same, (other << 2) - to)
      }
    }
    while (same < limit && old[from + same] === now[to + same]) same++
    return same
  }

  /** How many bytes of each are the edit that begins where they differ. */
  #edit(old: Buffer, from: number, end: number, now: Buffer, to: number, length: number): readonly [number, number] {
    const limit = Math.min(NEAR, end - from, length - to)
    let run = 0
    for (let index = 1; index < limit; index++) {
      run = old[from + index] === now[to + index] ? run + 1 : 0
      if (run === AGREEMENT) return [index - AGREEMENT + 1, index - AGREEMENT + 1]
    }
    // The ends of both.
    if (end - from === length - to && limit < NEAR) return [end - from - run, length - to - run]
    for (const off of anchorsAt) {
      const begin = from + off
      if (begin + ANCHOR > end) break
      const found = now.indexOf(old.subarray(begin, begin + ANCHOR), to)
      if (found < 0 || found + ANCHOR > length) continue
      let back = 0
      while (back < off && found - back > to && old[begin - back - 1] === now[found - back - 1]) back++
      return [off - back, found - back - to]
    }
    let tail = 0
    const most = Math.min(end - from, length - to)
    while (tail < most && old[end - tail - 1] === now[length - tail - 1]) tail++
    return [end - from - tail, length - to - tail]
  }
}

const areDigits = (bytes: Buffer, from: number, length: number): boolean => {
  for (let at = from; at < from + length; at++) {
    const byte = bytes[at] as number
    if (byte < 0x2d || byte > 0x3a || byte === 0x2f) return false
  }
  return true
}

const [QUOTE, COLON, SPACE] = [0x22, 0x3a, 0x20]

/**
 * Whether a digit at `at` of JSON is within a text. A number has a colon or a comma before it, or a bracket; a colon of JSON, unlike one of a time, follows a
 * quote. Where that does not decide, it is false.
 */
const isInText = (bytes: Buffer, at: number): boolean => {
  let before = at - 1
  while (before > 0 && isOfNumber(bytes[before] as number)) before--
  const byte = bytes[before] as number
  if (byte === COLON) return isOfNumber(bytes[before - 1] as number)
  return byte === QUOTE || isLetter(byte) || (byte === SPACE && isLetter(bytes[before - 1] as number))
}

const isOfNumber = (byte: number): boolean => (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2e

/** But for `e`, which may be of a number. */
const isLetter = (byte: number): boolean => {
  const small = byte | 0x20
  return small >= 0x61 && small <= 0x7a && small !== 0x65
}
