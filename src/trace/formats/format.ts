/** The interface of a file format: a decoder and an encoder, both fed piece by piece, neither holding a whole trace. */

import * as Schema from "effect/Schema"
import type { IsInTrace } from "../sanitising/replay-object.ts"
import type { Spool } from "../spool.ts"
import type { OwnedLifecycles, TraceHeader, TraceItem } from "../trace-item.ts"

/** Push bytes, take items; call {@link end} after the last bytes. Every method throws only {@link BadTraceError}. */
export interface TraceDecoder {
  /** The items completed by these bytes. The bytes must not change while items are taken. */
  push(chunk: Uint8Array): Iterable<TraceItem>
  /** The items completed by the end of the bytes. Call it once. */
  end(): Iterable<TraceItem>
}

/** What a format could not represent, or leaves out because a replay does not need it. */
export interface LeftOut {
  /** Number of gaps, which only NDJSON can represent. */
  readonly gaps: number
  /** Number of kinds that were not watched, which only NDJSON can name. */
  readonly incomplete: number
  /** Number of objects and changes by GVK, of kinds that the format cannot represent. */
  readonly objects: ReadonlyMap<string, number>
  /** Number of changes after which the object is the same as before for a replay, for example of its status. */
  readonly unchanged: number
  /** For people: what will go wrong in a replay of the trace, one sentence each. */
  readonly warnings: ReadonlyArray<string>
}

/**
 * Add items in order, and {@link take} after each, until nothing is full; then take the pieces of {@link finish}. Both throw {@link UnwritableTraceError}, and
 * SpoolError if a spool is used.
 */
export interface TraceEncoder {
  /** Bytes of the item are copied. */
  add(item: TraceItem): void
  /** A full piece with memory of its own, or `undefined` if none is full yet. */
  take(): Uint8Array | undefined
  /** The rest, in pieces. Call it once. */
  finish(): Iterable<Uint8Array>
  /** Final when {@link finish} has ended. */
  readonly leftOut: LeftOut
}

/** Which of a pod's owners in the trace its life is listed under: the nearest, or the outermost, whose controller creates the others. */
export type LivesOwner = "first" | "outermost"

/** Facts about a whole trace, known before it is encoded. */
export interface TraceFacts {
  /** Whether an object occurs anywhere in the trace. Compares UIDs too, if both the trace and the reference have them. */
  readonly isInTrace: IsInTrace
  /** The lives of its pods within its window, according to their `status`. `isTracked`: kinds that count as owners. */
  lifecycles(which: LivesOwner, isTracked: (gvk: string) => boolean): ReadonlyArray<OwnedLifecycles>
}

/** External dependencies of encoders. */
export interface EncoderOptions {
  /** Opens a spool for data that can be written only at the end. Called at most once; the caller closes it. */
  readonly spool: () => Spool
  /**
   * Default: no facts. Then formats for replay keep owner references only to earlier objects, and SimKube's has only the lifecycles that
   * the trace itself lists.
   */
  readonly facts?: TraceFacts
}

/** The bytes are not a trace of that format. */
export class BadTraceError extends Schema.TaggedError<BadTraceError>()("BadTraceError", {
  /** Name of the format. */
  format: Schema.String,
  /** Byte of the (decompressed) file at which the problem starts. */
  offset: Schema.Int,
  /** One sentence that names fields and never quotes content. */
  detail: Schema.String,
}) {
  override get message(): string {
    return `not a readable ${this.format} trace: byte ${this.offset}: ${this.detail}`
  }
}

/** A trace, or one object in it, cannot be represented in that format. */
export class UnwritableTraceError extends Schema.TaggedError<UnwritableTraceError>()("UnwritableTraceError", {
  format: Schema.String,
  detail: Schema.String,
}) {
  override get message(): string {
    return `cannot be written as ${this.format}: ${this.detail}`
  }
}

/** Nothing left out. */
export const nothingLeftOut: LeftOut = { gaps: 0, incomplete: 0, objects: new Map(), unchanged: 0, warnings: [] }

/** How many kinds a trace lacks something of; a kind may be named once for each of its namespaces. */
export const countIncomplete = (parts: TraceHeader["incomplete"]): number => new Set(parts.map(({ gvk }) => gvk)).size
