/** Events to race an Effect against: an aborted signal, and time on the recorder's clock. */
import * as Effect from "effect/Effect"
import type { Clock } from "../../../clock.ts"

/** Completes when the signal is aborted. */
export const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = (): void => resume(Effect.void)
    if (signal.aborted) return done()
    signal.addEventListener("abort", done, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", done))
  })

/** Completes after so many ms on the clock. */
export const elapsed = (clock: Clock, milliseconds: number): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const timer = clock.after(milliseconds, () => resume(Effect.void))
    return Effect.sync(() => timer.cancel())
  })
