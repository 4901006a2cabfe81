/**
 * MessagePack as in SimKube's traces (docs/facts/simkube.md#trace-file): the smallest encoding of every value, integers from 0 up in the
 * unsigned family, floats always f64, neither bin nor extension. Decoding and re-encoding a file written that way gives the same bytes.
 * `message-pack-writer.ts` writes, `message-pack-reader.ts` reads.
 *
 * Why not a library: neither of the two well-maintained ones reproduces SimKube's own files. `@msgpack/msgpack` 3.1 rejects maps with array
 * keys; `msgpackr` 2.1 writes unsigned 64-bit integers as signed ones and integers from 2^32 as floats, which SimKube's reader rejects for
 * hashes and timestamps. Both turn `1.0` into `1`, end in a RangeError on deep or truncated input, and need a whole value in memory where
 * an export has a stream.
 */

import * as Schema from "effect/Schema"
import type { IntegralFloat } from "../../../json/exact-json.ts"

/**
 * Any decoded value. Numbers are those of exact JSON; maps are `Map`s because their keys may be integers beyond 2^53 or arrays, and to keep
 * their order.
 */
export type MessagePackValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | IntegralFloat
  | ReadonlyArray<MessagePackValue>
  | ReadonlyMap<MessagePackValue, MessagePackValue>

/** A value cannot be read, or (reasons `range` and `depth` only) written. */
export class MessagePackError extends Schema.TaggedError<MessagePackError>()("MessagePackError", {
  /**
   * - `truncated`: the bytes end inside a value; more bytes may complete it
   * - `malformed`: an unknown type byte, or text that is not UTF-8
   * - `type`: well-formed, but of another type than required there
   * - `range`: an integer beyond 64 bits
   * - `depth`: nested deeper than MAX_DEPTH
   */
  reason: Schema.Literals(["truncated", "malformed", "type", "range", "depth"]),
  /** Byte at which the offending value starts, relative to the bytes passed in. */
  offset: Schema.Int,
  /** What was found or expected; never content. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `MessagePack ${this.reason} at byte ${this.offset}: ${this.detail}`
  }
}
