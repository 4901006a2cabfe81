/** Durations of the trace as real ones. */
import type { Clock } from "../../clock.ts"
import type { LiveSchedule, Speed } from "../schedule/replay-clock.ts"

/** How durations of the trace pass in the target; by the speed and the pauses known when it is asked. */
export interface LifeTiming {
  /** Real ms that a duration of the trace takes at the present speed. */
  readonly scaledMs: (traceMs: number) => number
  /**
   * When something ends that began at `startedMs` and takes `traceMs` of the trace: both ms since the Unix epoch; `undefined` while the
   * replay is paused.
   */
  readonly endMs: (startedMs: number, traceMs: number) => number | undefined
}

/** `schedule`: `undefined` before the first moment of the trace is due. */
export const lifeTiming = (
  clock: Pick<Clock, "monotonicMs" | "wallMicros">,
  speedNow: () => Speed,
  schedule: () => LiveSchedule | undefined,
): LifeTiming => {
  const scaledMs = (traceMs: number): number => {
    const speed = speedNow()
    return speed === "max" ? 0 : traceMs / speed
  }
  return {
    scaledMs,
    endMs: (startedMs, traceMs) => {
      const current = schedule()
      if (current === undefined) return startedMs + scaledMs(traceMs)
      const toMonotonic = clock.monotonicMs() - clock.wallMicros() / 1000
      const dueMs = current.dueMs(current.positionMicros(startedMs + toMonotonic) + traceMs * 1000)
      return Number.isFinite(dueMs) ? Math.max(startedMs, dueMs - toMonotonic) : undefined
    },
  }
}
