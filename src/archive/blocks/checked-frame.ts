/** Checks a frame of observations completely before any of it is taken, so that an invalid frame affects nothing else. */
import {
  decodeColumns,
  MalformedFrameError,
  type Observations,
  type SplitFrame,
  splitObservations,
} from "../../wire/observations.ts"
import { type KindEntry, type KindTable, nextNumberAfter } from "../rows/kind-table.ts"
import type { PodTable } from "../rows/pod-table.ts"

interface CheckedFrame {
  readonly split: SplitFrame
  readonly events: Observations
  /** The kind's state before the frame; `undefined`: it is the kind's first. */
  readonly before: KindEntry | undefined
}

/** @throws MalformedFrameError if the bytes are not a frame, or refer to an object or a pod that was never introduced */
export const checkFrame = (frame: Uint8Array, kinds: KindTable, pods: PodTable): CheckedFrame => {
  const split = splitObservations(frame)
  const events = decodeColumns(split.columns, split.payload)
  events.check()
  const before = kinds.get(events.gvk)
  const nextNumber = Math.max(before?.nextObjectNumber ?? 1, nextNumberAfter(events))
  const highest = events.highestObjectNumber()
  if (highest >= nextNumber) {
    const reason = `object ${highest} of ${events.gvk} was never introduced; the next new number is ${nextNumber}`
    throw new MalformedFrameError({ reason, byteLength: frame.length })
  }
  const unknownPod = pods.unknownIn(events)
  if (unknownPod !== undefined) {
    const reason = `pod ${unknownPod} was never introduced; the next new number is ${pods.nextNumber}`
    throw new MalformedFrameError({ reason, byteLength: frame.length })
  }
  return { split, events, before }
}
