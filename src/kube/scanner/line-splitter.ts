/**
 * Cuts a stream of bytes into lines.
 *
 * A line that is whole in a chunk is passed on in place; one that spans chunks is assembled in a buffer of its own, in time linear in its
 * length. CRLF ends a line like LF, empty lines are left out. A line without its line feed is never passed on: if {@link
 * LineSplitter.pendingBytes} is not 0 when the stream ends, the stream was cut off.
 */

import { CarryBuffer, defaultLongest } from "./carry-buffer.ts"
import type { LineBudget } from "./line-budget.ts"

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Bytes [start, end) of `bytes` are one line or list item, valid only during the call. Must not throw. */
export type SpanListener = (bytes: Buffer, start: number, end: number) => void

export class LineSplitter {
  private readonly listener: SpanListener
  private readonly carry: CarryBuffer

  /**
   * @param options.longest bytes of the longest line that may span chunks; default {@link defaultLongest}
   * @param options.budget of all threads, for lines beyond `freeBytes`; default: none
   */
  constructor(
    listener: SpanListener,
    options: { readonly longest?: number; readonly budget?: LineBudget | undefined } = {},
  ) {
    this.listener = listener
    this.carry = new CarryBuffer(options.longest ?? defaultLongest, options.budget)
  }

  /** Bytes received since the last line feed. */
  get pendingBytes(): number {
    return this.carry.length
  }

  /** Forgets an unfinished line and gives back what it took: the stream has ended. */
  reset(): void {
    this.carry.clear()
  }

  /**
   * Reads bytes [start, end) of a chunk, which may be reused after the call.
   *
   * @throws TooLongError, LinesTooLargeError if a line is longer than allowed. The rest of the chunk is lost: abort the stream.
   */
  push(chunk: Buffer, start: number, end: number): void {
    let from = start
    const carry = this.carry
    if (carry.length > 0 && from < end) {
      const lineFeed = chunk.indexOf(LINE_FEED, from)
      if (lineFeed < 0 || lineFeed >= end) {
        carry.append(chunk, from, end)
        return
      }
      carry.append(chunk, from, lineFeed)
      this.emit(carry.bytes, 0, carry.length)
      carry.clear()
      from = lineFeed + 1
    }
    while (from < end) {
      const lineFeed = chunk.indexOf(LINE_FEED, from)
      if (lineFeed < 0 || lineFeed >= end) {
        carry.append(chunk, from, end)
        return
      }
      this.emit(chunk, from, lineFeed)
      from = lineFeed + 1
    }
  }

  private emit(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    if (last > start) this.listener(bytes, start, last)
  }
}
