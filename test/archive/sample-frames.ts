/** Frames for tests: made with the real builder, together with a plain list of their content. */

import type { Action, GapEvent, TraceEvent } from "../../src/trace/index.ts"
import { type Gap, type LateRange, ObservationsBuilder } from "../../src/wire/index.ts"
import { frameEvent } from "../wire/frame-events.ts"

/** µs since the Unix epoch at which the samples begin. */
export const START = 1_763_700_000_000_000

/** One change as a test writes it down. */
export interface SampleEvent {
  readonly action: Action
  readonly number: number
  readonly time: number
  /** Absent: when it happened. */
  readonly received?: number
  readonly version: number | bigint | string
  readonly object: string
}

/** One frame as a test writes it down. */
export interface SampleFrame {
  readonly gvk: string
  readonly epoch?: number
  readonly events?: ReadonlyArray<SampleEvent>
  /** Numbers introduced here. */
  readonly newObjects?: ReadonlyArray<number>
  readonly gaps?: ReadonlyArray<Gap>
  readonly lateRanges?: ReadonlyArray<LateRange>
  readonly completeThrough?: string
  /** As watchers word it. Default: no news. */
  readonly selection?: string
}

const CODES = { applied: 1, deleted: 2, vanished: 3 } as const

/** The name of object `number` of a kind. Every third is cluster-scoped. */
export const nameOf = (gvk: string, number: number) => ({
  uid: `${gvk}/${number}`,
  namespace: number % 3 === 0 ? "" : `ns-${number % 3}`,
  name: `object-${number}`,
})

/** A fingerprint that differs with the object's text. */
export const fingerprintOf = (text: string): readonly [low: number, high: number] => {
  let low = 17
  let high = text.length
  for (let index = 0; index < text.length; index++) {
    low = (Math.imul(low, 31) + text.charCodeAt(index)) >>> 0
    high = (Math.imul(high, 37) ^ low) >>> 0
  }
  return [low, high]
}

/** Encodes a frame in shared memory, as a watcher does. */
export const encodeFrame = (frame: SampleFrame): Buffer => {
  const objects = (frame.events ?? []).map((event) => Buffer.from(event.object))
  const size = 4096 + objects.reduce((sum, bytes) => sum + bytes.length + 60, 0) + (frame.newObjects?.length ?? 0) * 200
  const slab = Buffer.from(new SharedArrayBuffer(size))
  const builder = new ObservationsBuilder(frame.gvk)
  builder.begin(slab, frame.epoch ?? 0)
  const isTaken = [
    ...(frame.newObjects ?? []).map((number) => builder.addObject({ number, ...nameOf(frame.gvk, number) })),
    ...(frame.events ?? []).map(({ action, number, time, received = 0, version, object }, index) => {
      const bytes = objects[index] ?? Buffer.alloc(0)
      const [fingerprintLow, fingerprintHigh] = fingerprintOf(object)
      const fingerprint = { fingerprintLow, fingerprintHigh }
      const times = { timeMicros: time, receivedMicros: received }
      const event = { action: CODES[action], objectNumber: number, ...times, version, ...fingerprint, bytes }
      return builder.append(frameEvent(event))
    }),
    ...(frame.gaps ?? []).map((gap) => builder.addGap(gap)),
    ...(frame.lateRanges ?? []).map((range) => builder.addLateRange(range)),
    builder.completeThrough(frame.completeThrough ?? ""),
    ...(frame.selection === undefined ? [] : [builder.selection(frame.selection)]),
  ]
  if (isTaken.includes(false)) throw new Error("the sample does not fit into its frame")
  return slab.subarray(0, builder.finish())
}

/** An event as plain values: the object as text. */
export type PlainEvent = Omit<TraceEvent & { type: "object" }, "object"> & { readonly object: string }

/** Copies what is valid only until the next event is taken. */
export const plain = (event: TraceEvent): PlainEvent | GapEvent =>
  event.type === "gap" ? event : { ...event, object: Buffer.from(event.object).toString() }

/** A gap of a tenth of a second that was closed at `time`. */
export const gapAt = (time: number, detail = "410 Gone"): Gap => ({
  fromVersion: "5",
  toVersion: "9",
  fromTime: time - 100_000,
  toTime: time,
  reason: "expired",
  detail,
  namespace: "",
})
