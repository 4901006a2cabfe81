/** Waits of everything that asks an API server again. */
import type { Timers } from "../clock.ts"

/** Resolves after `ms`, or as soon as one of the signals is aborted. Never rejects. */
export const pause = (timers: Timers, ms: number, ...signals: ReadonlyArray<AbortSignal>): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      for (const signal of signals) signal.removeEventListener("abort", done)
      resolve()
    }
    const timer = timers.after(ms, done)
    for (const signal of signals) signal.addEventListener("abort", done)
    if (signals.some(({ aborted }) => aborted)) done()
  })

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
