/** When an observed change happened, as far as its stream and the object itself tell. */
import type { ResourceVersion } from "../../resource-version.ts"
import type { ScannedObject } from "../../scanner/object/scanned-object.ts"

// One object on its way from the reader of a stream to the recorder. Each reader has one such record and refills it for every object, so
// that passing an event needs neither a long argument list nor an allocation.

/** 1: added or modified. 2: deleted, with the last state. The same codes as the action column of a frame. */
type ObservedAction = 1 | 2

const noBytes = Buffer.alloc(0)

/**
 * An object as the server sent it, with the `kind` and `apiVersion` that lists omit: `bytes[start, end)`. Valid only during the call that it
 * is passed to.
 */
export class ObservedObject {
  action: ObservedAction = 1
  /** Objects of a list have no order and may be known already; all others arrive in the order of their versions. */
  fromList = false
  /** A string if the version is not an integer. */
  version: ResourceVersion | string = 0
  bytes: Buffer = noBytes
  start = 0
  end = 0
  /** Whether it was received when it happened. Objects of a list are live: what they were before is unknown. */
  timing: Timing = "live"
  /** The stretch in which a late or undecided change happened. */
  stretch: LateStretch | undefined
  /** When a late or undecided change happened according to the object itself, µs by the receiver's clock; 0: it does not say. */
  happenedMicros = 0
  /** A late or undecided change cannot have happened before, µs by the receiver's clock; 0: nothing is known. */
  sinceMicros = 0
  /** The times that the object has, if a session reads them (liveness/written-time.ts); s since the Unix epoch by the server's clock, 0: none. */
  created = 0
  written = 0
  writes = 0
  fields = 0
  /** Whether its deletion was requested and had to wait, for a grace period or for finalizers; if times are read. */
  isTerminating = false
  /** Its positions refer to `bytes`; some are outside [start, end). */
  readonly scanned: ScannedObject

  constructor(scanned: ScannedObject) {
    this.scanned = scanned
  }
}

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
