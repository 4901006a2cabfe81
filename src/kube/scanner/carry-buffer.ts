/**
 * Keeps the start of a line or list item whose end has not arrived yet.
 *
 * Bounded: exceeding the limit is a {@link TooLongError}, never unbounded memory. Grows by doubling, so copying is linear; releases large
 * memory when emptied, so that one huge object does not stay for the life of a watch.
 */

import * as Schema from "effect/Schema"

/** A line or list item is longer than the limit: the sender is not an API server, or its line ends were lost. */
export class TooLongError extends Schema.TaggedError<TooLongError>()("TooLongError", {
  /** Bytes. */
  limit: Schema.Number,
}) {
  override get message() {
    return `more than ${this.limit} bytes without the end of a line or a list item`
  }
}

/**
 * Default limit in bytes: 64 MiB. etcd rejects objects above 1.5 MiB unless configured otherwise, so no object that a real API server
 * stores comes near it.
 */
export const defaultLongest = 64 * 1024 * 1024

/** Smallest allocation in bytes: most objects fit, and it stays allocated between two of them. */
const smallest = 16 * 1024
/** Bytes that may stay allocated when the buffer is emptied. */
const keptWhenEmpty = 1024 * 1024

export class CarryBuffer {
  /** The carried bytes are [0, length). Replaced when it grows. */
  bytes: Buffer = Buffer.alloc(0)
  length = 0
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  /** @throws TooLongError if the limit would be exceeded; what was carried before is dropped. */
  append(source: Buffer, start: number, end: number): void {
    const length = this.length + end - start
    if (length > this.longest) {
      this.clear()
      throw new TooLongError({ limit: this.longest })
    }
    if (length > this.bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.min(Math.max(length, this.bytes.length * 2, smallest), this.longest))
      this.bytes.copy(grown, 0, 0, this.length)
      this.bytes = grown
    }
    source.copy(this.bytes, this.length, start, end)
    this.length = length
  }

  clear(): void {
    this.length = 0
    if (this.bytes.length > keptWhenEmpty) this.bytes = Buffer.alloc(0)
  }
}
