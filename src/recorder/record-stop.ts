/** A kind that is given up leaves a gap that stays open: from its last complete version to nobody knows where. */
import * as Effect from "effect/Effect"
import { patiently } from "./patient-writes.ts"
import type { WatchedStore } from "./watchers/spawn-watchers.ts"

interface KindStop {
  readonly gvk: string
  /** Why, for people. */
  readonly detail: string
  /** µs since the Unix epoch: when it was given up, however long the store takes to hear of it. */
  readonly atMicros: number
}

/** Tried until the store has it; the same gap each time, so that it is there once. Fails when the store is stopped first. */
export const recordStop = (store: WatchedStore, { gvk, detail, atMicros }: KindStop) =>
  Effect.gen(function* () {
    const { resumeVersion, completeTime } = yield* patiently(store, store.call("kindState", gvk))
    const gap = {
      // Empty also where each namespace has a version of its own; the time says from when.
      fromVersion: resumeVersion,
      toVersion: "",
      fromTime: completeTime,
      toTime: atMicros,
      reason: "stopped" as const,
      detail,
      namespace: "",
    }
    yield* patiently(store, store.call("recordGap", { gvk, gap }))
  })
