/** Limits how long work may take, on a clock that tests control. */
import type { Clock } from "../clock.ts"

/** The work took longer than allowed. */
export class DeadlineExceeded extends Error {
  override readonly name = "TimeoutError"

  constructor(what: string, milliseconds: number) {
    super(`${what} took longer than ${milliseconds / 1000} s`)
  }
}

/**
 * Runs `work` for at most `milliseconds`, and no longer than until `stop` fires. Rejects at once in either case, even if the work ignores
 * its signal; the result of the work is then dropped.
 */
export const within = <A>(
  clock: Clock,
  what: string,
  milliseconds: number,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<A>,
): Promise<A> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    const give = (cause: unknown): void => {
      settle()
      controller.abort(cause)
      reject(cause)
    }
    const stopped = (): void => give(stop.reason)
    const timer = clock.after(milliseconds, () => give(new DeadlineExceeded(what, milliseconds)))
    const settle = (): void => {
      timer.cancel()
      stop.removeEventListener("abort", stopped)
    }
    if (stop.aborted) return stopped()
    stop.addEventListener("abort", stopped)
    work(controller.signal).then(
      (value) => {
        settle()
        resolve(value)
      },
      (cause: unknown) => {
        settle()
        reject(cause)
      },
    )
  })
