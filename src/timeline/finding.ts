/** What went wrong with an object, from when to when. */

import type { LaneObject } from "./lane.ts"

/** What can go wrong. */
export const findingCodes = [
  "crash-loop",
  "out-of-memory",
  "image-not-pulled",
  "failed-pod",
  "unscheduled-pod",
  "failed-job",
  "node-not-ready",
  "node-under-pressure",
  "stalled-roll-out",
  "replicas-missing",
] as const

/** One of {@link findingCodes}. */
export type FindingCode = (typeof findingCodes)[number]

/** One stretch of time in which one thing was wrong with one object. */
export interface Finding {
  readonly code: FindingCode
  /** Of the object's lane. */
  readonly lane: string
  readonly object: LaneObject
  /** µs since the Unix epoch: when it was first seen to be so. */
  readonly from: number
  /** µs since the Unix epoch; absent: it is still so at the end of the window. */
  readonly to?: number
  /** What Kubernetes said of it last, such as `back-off 5m0s restarting failed container`; may be empty. */
  readonly message: string
  /** How often, of what recurs, such as restarts in the window. */
  readonly count: number
}
