/** Work that must not take for ever, on a clock that tests drive. */
import type { Clock } from "../clock.ts"

/** Work took longer than it was given. */
export class DeadlineExceeded extends Error {
  override readonly name = "TimeoutError"

  constructor(what: string, milliseconds: number) {
    super(`${what} took longer than ${milliseconds / 1000} s`)
  }
}

/**
 * Runs `work` for at most so many ms, and no longer than until `stop` fires. Rejects at once when either comes, also if the work
 * takes no notice of the signal it is given; what becomes of the work then is nobody's concern.
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
