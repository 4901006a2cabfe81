/**
 * Waits until everything in a rehearsal has come to rest: no request is under way, no run either, every watch event has been delivered, and
 * nothing more can happen before the clock moves.
 *
 * Everything passes through turns of the event loop: between a change and the last of its effects there is no turn in which nothing can be seen
 * to happen but those in which bytes wait for the end of a turn. So rest is {@link calmTurns} turns in a row without any activity.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { RehearsalStalled } from "../errors.ts"

/** The longest way without a visible effect has two turns: a change is sent at the end of a turn, and received in the next. */
const calmTurns = 4
/** Turns after which a run evidently waits for something outside, and no processor is kept busy for it. */
const patientTurns = 1000

interface RestOptions {
  /** Grows whenever anything happens. */
  readonly activity: () => number
  /** What is not finished. */
  readonly busy: () => ReadonlyArray<string>
  /** ms of real time. */
  readonly stallMs: number
  /** µs since the Unix epoch, for the error. */
  readonly time: () => number
}

/** Rejects with {@link RehearsalStalled}. */
export const rest = async ({ activity, busy, stallMs, time }: RestOptions): Promise<void> => {
  const begun = performance.now()
  let last = activity()
  for (let calm = 0, turns = 0; calm < calmTurns; turns++) {
    if (turns < patientTurns) await new Promise(setImmediate)
    else await sleep(1)
    const now = activity()
    calm = now === last && busy().length === 0 ? calm + 1 : 0
    last = now
    const waitedMs = performance.now() - begun
    if (calm === 0 && waitedMs > stallMs)
      throw new RehearsalStalled({ time: time(), waitedMs: Math.round(waitedMs), busy: [...busy()] })
  }
}
