/** When an observed change happened, as far as its stream and the object itself tell. */

/**
 * `live`: it was received when it happened, within a second or so. `late`: it happened before, in a {@link LateStretch}. `undecided`: the stream
 * had been silent and the object does not say when it was written; what follows in the same network read decides, otherwise it counts as live.
 */
export type Timing = "live" | "late" | "undecided"

/**
 * Why changes were late. `stopped`: nothing was recording. `disconnected`: the connection was lost or refused. `delayed`: the stream was open, and
 * silent or behind.
 */
export type LateCause = "stopped" | "disconnected" | "delayed"

/** A time in which a stream was not live. Its changes happened in it and were received at its end or later. Times are µs by the receiver's clock. */
export interface LateStretch {
  /** The last moment at which the stream was live, less {@link liveWithinMicros}. */
  readonly notBefore: number
  /** Of a resumed stream: when the server named the version up to which changes are late. Else `undefined`: the time of each receipt. */
  readonly notAfter: number | undefined
  readonly cause: LateCause
}

/** µs within which a change is received by a live stream; what was received last may be as much older than its receipt. */
export const liveWithinMicros = 1_000_000
