/**
 * The structural pass: walks over JSON values in a buffer without building objects.
 *
 * Guaranteed: a value walked over is valid JSON (RFC 8259) as `JSON.parse` defines it, whatever its white space and depth; no byte at or
 * after `end` affects the result; time is linear. Not checked: UTF-8 (decoding replaces bad sequences, here as in
 * `JSON.parse(buffer.toString())`).
 *
 * Checks for white space only where nothing else fits, so compact JSON never pays for it.
 */

import { skipScalar } from "./json-scalars.ts"
import { skipPlainString, skipString } from "./json-strings.ts"

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** A cursor over a range of JSON that ends in `}` or `]`. Reused for every event; keeps the last buffer alive. */
export class JsonBytes {
  bytes: Buffer = Buffer.alloc(0)
  /** The same memory as `bytes`. Made once per buffer, not per event. */
  view: DataView = new DataView(new ArrayBuffer(0))
  end = 0
  /** Set when a walk passes white space outside a string; the caller clears it. */
  spaced = false
  private nesting = new Uint8Array(256)

  /**
   * Points the cursor at bytes that end at `end` (exclusive). The last byte must be `}` or `]`: because no string, number or separator can
   * end there, the loops below need no check of `end` after each of them.
   *
   * @returns false if the last byte is another one; then nothing may be walked.
   */
  load(bytes: Buffer, end: number): boolean {
    if (end < 1 || end > bytes.length) return false
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.end = end
    return (this.view.getUint8(end - 1) | 32) === CLOSE_BRACE
  }

  /** The first position at or after `position` that is not white space; at most `end`. */
  skipSpace(position: number): number {
    const view = this.view
    const end = this.end
    let at = position
    while (at < end) {
      const byte = view.getUint8(at)
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) break
      at++
    }
    if (at !== position) this.spaced = true
    return at
  }

  /** From the first byte of a string's content to the position after its closing quote, or -1. */
  skipString(position: number): number {
    return skipString(this.view, position, this.end)
  }

  /** The same for a string whose bytes are its text: -1 also if it has an escape sequence. */
  skipPlainString(position: number): number {
    return skipPlainString(this.view, position, this.end)
  }

  /** The position after the colon that follows a key ending at `position`, and after white space around it; -1 without a colon. */
  skipColon(position: number): number {
    const view = this.view
    let at = position
    if (view.getUint8(at) !== COLON) {
      at = this.skipSpace(at)
      if (at >= this.end || view.getUint8(at) !== COLON) return -1
    }
    at++
    return view.getUint8(at) <= 32 ? this.skipSpace(at) : at
  }

  /**
   * Walks over one value of any kind.
   *
   * @param position its first byte, below `end`
   * @returns the position after it, or -1 if it is not valid JSON or does not end before `end`
   */
  skipValue(position: number): number {
    const view = this.view
    const end = this.end
    let nesting = this.nesting
    let depth = 0
    let inObject = 0
    let at = position
    let byte = view.getUint8(at)
    for (;;) {
      if (byte === QUOTE) {
        at = skipString(view, at + 1, end)
        if (at < 0) return -1
      } else if (byte === OPEN_BRACE) {
        byte = view.getUint8(++at)
        if (byte <= 32) {
          at = this.skipSpace(at)
          byte = view.getUint8(at)
        }
        if (byte !== CLOSE_BRACE) {
          if (byte !== QUOTE) return -1
          if (depth === nesting.length) nesting = this.deepen()
          nesting[depth++] = inObject
          inObject = 1
          at = this.skipKey(view, at, end)
          if (at < 0) return -1
          byte = view.getUint8(at)
          continue
        }
        at++
      } else if (byte === OPEN_BRACKET) {
        byte = view.getUint8(++at)
        if (byte <= 32) {
          at = this.skipSpace(at)
          byte = view.getUint8(at)
        }
        if (byte !== CLOSE_BRACKET) {
          if (depth === nesting.length) nesting = this.deepen()
          nesting[depth++] = inObject
          inObject = 0
          continue
        }
        at++
      } else if (byte <= 32) {
        const behind = this.skipSpace(at)
        if (behind === at) return -1
        at = behind
        byte = view.getUint8(at)
        continue
      } else {
        at = skipScalar(view, at, byte, end)
        if (at < 0) return -1
      }
      for (;;) {
        if (depth === 0) return at
        if (at >= end) return -1
        byte = view.getUint8(at)
        if (byte === COMMA) {
          byte = view.getUint8(++at)
          if (inObject === 1) {
            if (byte !== QUOTE) {
              at = this.skipSpace(at)
              if (view.getUint8(at) !== QUOTE) return -1
            }
            at = this.skipKey(view, at, end)
            if (at < 0) return -1
            byte = view.getUint8(at)
          }
          break
        }
        if (byte === CLOSE_BRACE) {
          if (inObject !== 1) return -1
          at++
          inObject = nesting[--depth] as number
        } else if (byte === CLOSE_BRACKET) {
          if (inObject !== 0) return -1
          at++
          inObject = nesting[--depth] as number
        } else {
          const behind = this.skipSpace(at)
          if (behind === at) return -1
          at = behind
        }
      }
    }
  }

  /** From the opening quote of a key to the position after its colon, or -1. */
  private skipKey(view: DataView, position: number, end: number): number {
    let at = skipString(view, position + 1, end)
    if (at < 0) return -1
    if (view.getUint8(at) !== COLON) {
      at = this.skipSpace(at)
      if (view.getUint8(at) !== COLON) return -1
    }
    return at + 1
  }

  /** Only the input bounds nesting: `JSON.parse` has no limit either, and the two must agree. */
  private deepen(): Uint8Array<ArrayBuffer> {
    const deeper = new Uint8Array(this.nesting.length * 2)
    deeper.set(this.nesting)
    this.nesting = deeper
    return deeper
  }
}
