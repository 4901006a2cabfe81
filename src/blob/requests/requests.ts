/** What all requests to stores have in common: a limit of time, and being sent again after failures that pass. The SDKs are told to send each once. */
import type { Clock } from "../../clock.ts"
import { isPassing } from "./target-error.ts"

/** ms within which a store must begin to respond, and then send more of its response. */
export const responseMs = 20_000

/** How long a request is sent again, and by which clock. */
export interface Patience {
  readonly clock: Clock
  /** For pauses: in [0, 1). */
  readonly random: () => number
  /** ms after which a request is not sent again. */
  readonly patienceMs: number
}

/** ms of the first pause, at most, and of the longest. They double, and half of each is random, so that writers that failed together part. */
const firstPauseMs = 100
const longestPauseMs = 5000

/** Sends a request until it succeeds, fails for a reason that lasts, patience is over or `stop` fires. Rejects with its last error. */
export const repeated = async <A>(
  { clock, random, patienceMs }: Patience,
  stop: AbortSignal,
  send: () => Promise<A>,
): Promise<A> => {
  const begun = clock.monotonicMs()
  for (let attempt = 0; ; attempt++) {
    try {
      return await send()
    } catch (cause) {
      const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + random() / 2)
      const isOver = clock.monotonicMs() - begun + pauseMs > patienceMs
      if (isOver || stop.aborted || !isPassing(cause)) throw cause
      await within(clock, "a pause", pauseMs, stop, endless).catch(() => undefined)
      if (stop.aborted) throw cause
    }
  }
}

/** Work that only a limit ends. */
const endless = (): Promise<never> => new Promise(() => undefined)

/** The work took longer than allowed. */
class DeadlineExceeded extends Error {
  override readonly name = "TimeoutError"
}

/** What is called whenever bytes have arrived. */
export type Arrived = () => void

/**
 * Runs `work` for at most `milliseconds`, and no longer than until `stop` fires. Rejects at once in either case, even if the work ignores
 * its signal; the result of the work is then dropped. `silentMs`: so does work of which nothing arrives for that long, or up to twice that.
 */
export const within = <A>(
  clock: Clock,
  what: string,
  milliseconds: number,
  stop: AbortSignal | undefined,
  work: (signal: AbortSignal, arrived: Arrived) => Promise<A>,
  silentMs: number = milliseconds,
): Promise<A> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    const give = (cause: unknown): void => {
      settle()
      controller.abort(cause)
      reject(cause)
    }
    const stopped = (): void => give(stop?.reason)
    const timer = clock.after(milliseconds, () =>
      give(new DeadlineExceeded(`${what} took longer than ${milliseconds / 1000} s`)),
    )
    let hasArrived = false
    const look = (): void => {
      if (!hasArrived) return give(new DeadlineExceeded(`nothing of ${what} arrived for ${silentMs / 1000} s`))
      hasArrived = false
      silence = clock.after(silentMs, look)
    }
    let silence = silentMs < milliseconds ? clock.after(silentMs, look) : timer
    const settle = (): void => {
      timer.cancel()
      silence.cancel()
      stop?.removeEventListener("abort", stopped)
    }
    if (stop?.aborted) return stopped()
    stop?.addEventListener("abort", stopped)
    const arrived = (): void => {
      hasArrived = true
    }
    work(controller.signal, arrived).then(
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

/** Does the work for each item, some at a time. After a failure no more is begun; rejects with the first when what was begun has ended. */
export const inParallel = async <Item>(
  items: ReadonlyArray<Item>,
  limit: number,
  work: (item: Item) => Promise<unknown>,
): Promise<void> => {
  const queue = items.values()
  let hasFailed = false
  const run = async (): Promise<void> => {
    for (const item of queue) {
      if (hasFailed) return
      await work(item).catch((cause: unknown) => {
        hasFailed = true
        throw cause
      })
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, run))
  for (const end of ended) if (end.status === "rejected") throw end.reason
}

/** Pieces as one; no copy of a single one. */
export const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only, ...others] = pieces
  return only !== undefined && others.length === 0 ? only : Buffer.concat(pieces)
}

/** Bytes of all pieces. */
export const lengthOf = (pieces: ReadonlyArray<Uint8Array>): number =>
  pieces.reduce((sum, { length }) => sum + length, 0)
