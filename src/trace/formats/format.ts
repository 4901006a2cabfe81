/**
 * What a file format is to the rest: a decoder and an encoder, both fed piece by piece, neither holding a whole trace.
 */

import * as Schema from "effect/Schema"
import type { IsInTrace } from "../sanitising/replay-object.ts"
import type { Spool } from "../spool.ts"
import type { TraceHeader, TraceItem } from "../trace-item.ts"
import type { OwnedLifecycles } from "./simkube/simkube-trace.ts"

/** Push bytes, take items; {@link end} when there are no more bytes. Every method throws {@link BadTraceError} and nothing else. */
export interface TraceDecoder {
  /** The items that these bytes complete. The bytes must not change while items are taken. */
  push(chunk: Uint8Array): Iterable<TraceItem>
  /** The items that the end of the bytes completes. To be called once. */
  end(): Iterable<TraceItem>
}

/** What had no place in a format. */
export interface LeftOut {
  /** Gaps, which only NDJSON can hold. */
  readonly gaps: number
  /** Kinds not being watched, which only NDJSON can name. */
  readonly incomplete: number
  /** Objects and changes, by GVK: kinds that the format cannot tell of. */
  readonly objects: ReadonlyMap<string, number>
}

/**
 * Add items in order, after each {@link take}; at last the pieces of {@link finish}. Both throw {@link UnwritableTraceError}, and
 * SpoolError where there is a spool.
 */
export interface TraceEncoder {
  /** Bytes of the item are copied. */
  add(item: TraceItem): void
  /** A full piece with memory of its own, or `undefined` while there is none. */
  take(): Uint8Array | undefined
  /** What is left, in pieces. To be called once. */
  finish(): Iterable<Uint8Array>
  /** Complete when {@link finish} has ended. */
  readonly leftOut: LeftOut
}

/** By which of a pod's owners in the trace its life is listed: the nearest, or the outermost, which makes the others again. */
export type LivesOwner = "first" | "outermost"

/** What is known of a whole trace before it is encoded. */
export interface TraceFacts {
  /** Anywhere in it. By the UID in the reference as well, where trace and reference have UIDs. */
  readonly isInTrace: IsInTrace
  /** The lives of its pods within its window, as their `status` tells them. `isTracked`: kinds that count as owners. */
  lifecycles(which: LivesOwner, isTracked: (gvk: string) => boolean): ReadonlyArray<OwnedLifecycles>
}

/** What encoders need from outside. */
export interface EncoderOptions {
  /** Holds what can be written only when all is known. Asked for at most once; stays the caller's. */
  readonly spool: () => Spool
  /**
   * Default: nothing is known. Then formats that are replayed keep owner references only to objects that come earlier, and SimKube's has
   * only those lifecycles that the trace itself lists.
   */
  readonly facts?: TraceFacts
}

/** The bytes are no trace of that format. */
export class BadTraceError extends Schema.TaggedError<BadTraceError>()("BadTraceError", {
  /** Name of the format. */
  format: Schema.String,
  /** Byte of the (decompressed) file at which the trouble begins. */
  offset: Schema.Int,
  /** One sentence that names fields, never quotes content. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `not a readable ${this.format} trace: byte ${this.offset}: ${this.detail}`
  }
}

/** A trace cannot be said in that format at all, or one object in it cannot. */
export class UnwritableTraceError extends Schema.TaggedError<UnwritableTraceError>()("UnwritableTraceError", {
  format: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `cannot be written as ${this.format}: ${this.detail}`
  }
}

/** Nothing left out. */
export const nothingLeftOut: LeftOut = { gaps: 0, incomplete: 0, objects: new Map() }

/** How many kinds a trace lacks something of; a kind may be named once for each of its namespaces. */
export const countIncomplete = (parts: TraceHeader["incomplete"]): number => new Set(parts.map(({ gvk }) => gvk)).size
