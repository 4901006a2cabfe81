/** Repeats what may fail for a moment: a store that restarts, or a network that is not ready when a pod starts. */
import type { Clock } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { BackOff } from "../../runtime/back-off.ts"

/** `random` returns a number in [0, 1). `log` gets one line for each failure that is followed by another attempt. */
export interface PatienceOptions {
  readonly clock: Pick<Clock, "after" | "monotonicMs">
  readonly random: () => number
  readonly log: (line: string) => void
}

/** With the pauses between them about half a minute, as long as a server that restarts is away. */
const attempts = 6
const policy = { initialMs: 500, maximumMs: 10_000, factor: 2, jitter: 0.5, resetAfterMs: Number.POSITIVE_INFINITY }

/** Rejects with the last failure of `work`, or with the first that is not momentary, or that comes after `signal` was aborted. */
export const withPatience = async <Result>(
  { clock, random, log }: PatienceOptions,
  signal: AbortSignal,
  isMomentary: (error: unknown) => boolean,
  work: () => Promise<Result>,
): Promise<Result> => {
  const pauses = new BackOff(policy, random)
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === attempts || signal.aborted || !isMomentary(error)) throw error
      log(`${messageOf(error)}; trying again`)
    }
    await pause(clock, pauses.next(clock.monotonicMs()), signal)
  }
}

const pause = (clock: Pick<Clock, "after">, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      timer.cancel()
      signal.removeEventListener("abort", end)
      resolve()
    }
    const timer = clock.after(ms, end)
    if (signal.aborted) end()
    else signal.addEventListener("abort", end)
  })
