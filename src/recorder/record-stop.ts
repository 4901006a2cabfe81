/** Records that a kind is no longer recorded, as an open gap from its last complete version on. */
import * as Effect from "effect/Effect"
import { patiently } from "./patient-writes.ts"
import type { WatchedStore } from "./watchers/spawn-watchers.ts"

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
