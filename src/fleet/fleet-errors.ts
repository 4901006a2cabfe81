/** What can be wrong with a stream, as one closed union. Errors of the store itself are the store's. Messages say what to do. */
import * as Schema from "effect/Schema"

const fields = { location: Schema.String, reason: Schema.String }

/** There is no stream at this address. */
export class NoStreamError extends Schema.TaggedError<NoStreamError>()("NoStreamError", {
  location: Schema.String,
}) {
  override get message(): string {
    return `${this.location} contains no stream: it has no stream.json. Check the address, or begin one with reel record --archive-to.`
  }
}

/** A newer kubereel wrote the stream, or this segment of it. */
export class NewerStreamError extends Schema.TaggedError<NewerStreamError>()("NewerStreamError", {
  location: Schema.String,
  found: Schema.Number,
  supported: Schema.Number,
}) {
  override get message(): string {
    return `${this.location} has format ${this.found}; this version reads only format ${this.supported}. Upgrade kubereel.`
  }
}

/** The bytes of one object are not what was written. */
export class SegmentDamagedError extends Schema.TaggedError<SegmentDamagedError>()("SegmentDamagedError", fields) {
  override get message(): string {
    return `${this.location} is damaged: ${this.reason}. Restore that object from a copy or an earlier version of it.`
  }
}

/** Segments are whole, each by itself, and are not one stream. */
export class StreamBrokenError extends Schema.TaggedError<StreamBrokenError>()("StreamBrokenError", {
  ...fields,
  number: Schema.Number,
}) {
  override get message(): string {
    return `the stream in ${this.location} is broken at segment ${this.number}: ${this.reason}.`
  }
}

/** The stream was compacted while it was read. Reading it again, from its beginning, succeeds. */
export class StreamChangedError extends Schema.TaggedError<StreamChangedError>()("StreamChangedError", {
  location: Schema.String,
}) {
  override get message(): string {
    return `the stream in ${this.location} was compacted while it was read. Try again.`
  }
}

/** What was restored is not what was recorded, although each segment was as it was written. */
export class RestoredUnsoundError extends Schema.TaggedError<RestoredUnsoundError>()("RestoredUnsoundError", fields) {
  override get message(): string {
    return `the recording restored from ${this.location} is damaged, as it was when it was sent: ${this.reason}.`
  }
}

const classes = [
  ...[NoStreamError, NewerStreamError, SegmentDamagedError, StreamBrokenError, StreamChangedError],
  RestoredUnsoundError,
] as const

export type StreamError = InstanceType<(typeof classes)[number]>

export const isStreamError = (cause: unknown): cause is StreamError => classes.some((known) => cause instanceof known)
