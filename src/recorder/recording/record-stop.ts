/** Gaps that no watcher can record: of a kind that is no longer recorded, from its last complete version on; and of one that was gone before it could be listed. */
import * as Effect from "effect/Effect"
import { patiently } from "../watchers/patient-writes.ts"
import type { WatchedStore } from "../watchers/spawn-watchers.ts"

interface KindStop {
  readonly gvk: string
  /** Why, for people. */
  readonly detail: string
  /** µs since the Unix epoch at which the recording of the kind stopped, even if the store learns of it later. */
  readonly atMicros: number
}

/** Retried until the store has it; each attempt writes the same gap, so it is recorded once. Fails if the store is stopped first. */
export const recordStop = (store: WatchedStore, { gvk, detail, atMicros }: KindStop) =>
  Effect.gen(function* () {
    const { resumeVersion, completeTime } = yield* patiently(store, store.call("kindState", gvk))
    const gap = {
      // Also empty if each namespace has its own version; then the time marks the start of the gap.
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

/** A kind's life, from the definition's acceptance to its end: µs since the Unix epoch. */
export interface UnlistedLife {
  readonly gvk: string
  readonly fromMicros: number
  readonly toMicros: number
}

/** Records a gap if the kind was not complete at any moment of its life. Retried as {@link recordStop}. */
export const recordUnlisted = (store: WatchedStore, { gvk, fromMicros, toMicros }: UnlistedLife) =>
  Effect.gen(function* () {
    const { recordedSince, completeTime } = yield* patiently(store, store.call("kindState", gvk))
    if (recordedSince > 0 && completeTime > fromMicros) return
    const gap = {
      ...{ fromVersion: "", toVersion: "", fromTime: fromMicros, toTime: Math.max(fromMicros, toMicros) },
      ...{ reason: "stopped" as const, namespace: "" },
      detail:
        "the kind was installed and removed again before its objects could be listed; what happened to them is not known",
    }
    yield* patiently(store, store.call("recordGap", { gvk, gap }))
  })
