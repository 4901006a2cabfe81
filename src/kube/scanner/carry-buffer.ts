/**
 * Keeps the start of a line or list item whose end has not arrived yet.
 *
 * Bounded: exceeding the limit is a {@link TooLongError}, and that of all threads together a {@link LinesTooLargeError}, never unbounded memory. Grows by
 * doubling, so copying is linear; releases large memory when emptied, so that one huge object does not stay for the life of a watch.
 */

import * as Schema from "effect/Schema"
import { freeBytes, type LineBudget } from "./line-budget.ts"

/** A line or list item is longer than the limit: the sender is not an API server, or its line ends were lost. */
export class TooLongError extends Schema.TaggedError<TooLongError>()("TooLongError", {
  /** Bytes. */
  limit: Schema.Number,
}) {
  override get message() {
    return `more than ${this.limit} bytes without the end of a line or a list item`
  }
}

/** The unfinished lines and list items of all kinds together take more memory than they may. */
export class LinesTooLargeError extends Schema.TaggedError<LinesTooLargeError>()("LinesTooLargeError", {
  /** Bytes of this line so far. */
  length: Schema.Number,
}) {
  override get message() {
    return `${this.length} bytes without the end of a line or a list item, and no memory is left for large lines of all kinds`
  }
}

/** The line is given up; the rest of the response is useless. */
export const isLineTooLarge = (error: unknown): error is TooLongError | LinesTooLargeError =>
  error instanceof TooLongError || error instanceof LinesTooLargeError

/**
 * Default limit in bytes: 16 MiB. etcd rejects objects above 1.5 MiB unless configured otherwise, so no object that a real API server
 * stores comes near it.
 */
export const defaultLongest = 16 * 1024 * 1024

/** Smallest allocation in bytes: most objects fit, and it stays allocated between two of them. */
const smallest = 16 * 1024
/** Bytes that may stay allocated when the buffer is emptied. */
const keptWhenEmpty = 1024 * 1024

export class CarryBuffer {
  /** The carried bytes are [0, length). Replaced when it grows and when it is emptied. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  private readonly longest: number
  private readonly budget: LineBudget | undefined
  /**
   * Memory of {@link bytes} beyond what may stay allocated. It grows in place and is given back at once: buffers of the usual kind would be copied, wait for V8, which
   * lets some 64 MB become garbage in each thread, and then stay in the arenas of malloc. A recorder of 20 kinds whose lines never ended had 2.65 GB when lines of 64 MiB
   * were kept in such buffers without a budget; with this and the budget it has 530 MB.
   */
  private large: ArrayBuffer | undefined
  /** Bytes taken from the budget. */
  private taken = 0

  /** `budget`: of all threads, for what exceeds {@link freeBytes}; default: none. */
  constructor(longest: number, budget?: LineBudget) {
    this.longest = longest
    this.budget = budget
  }

  /** @throws TooLongError, LinesTooLargeError if a limit would be exceeded; what was carried before is dropped. */
  append(source: Buffer, start: number, end: number): void {
    const length = this.length + end - start
    if (length > this.longest) {
      this.clear()
      throw new TooLongError({ limit: this.longest })
    }
    if (length > this.bytes.length) this.grow(length)
    source.copy(this.bytes, this.length, start, end)
    this.length = length
  }

  clear(): void {
    this.length = 0
    if (this.large !== undefined) {
      // Gives the pages back at once; the address space goes when the buffer is collected.
      this.large.resize(0)
      this.large = undefined
      this.bytes = Buffer.alloc(0)
    }
    if (this.taken > 0) this.budget?.give(this.taken)
    this.taken = 0
  }

  private grow(length: number): void {
    const size = Math.min(Math.max(length, this.bytes.length * 2, smallest), this.longest)
    const more = size - freeBytes - this.taken
    if (this.budget !== undefined && more > 0) {
      if (!this.budget.take(more)) {
        this.clear()
        throw new LinesTooLargeError({ length })
      }
      this.taken += more
    }
    if (size <= keptWhenEmpty) this.replace(Buffer.allocUnsafeSlow(size))
    else if (this.large === undefined) {
      this.large = new ArrayBuffer(size, { maxByteLength: this.longest })
      this.replace(Buffer.from(this.large, 0, size))
    } else {
      this.large.resize(size)
      this.bytes = Buffer.from(this.large, 0, size)
    }
  }

  private replace(grown: Buffer): void {
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }
}
