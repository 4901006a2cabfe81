/**
 * Requests to a store: each has a deadline, is sent again after failures that pass, and is counted. This is the only place that repeats requests of
 * {@link BlobStore}; the SDKs are told to send each once.
 */
import type { Clock } from "../clock.ts"
import { targetDeadlines, within } from "./part-writer.ts"
import { isPassing } from "./target-error.ts"

/** What requests are counted by. */
const requestKinds = ["write", "read", "list", "remove"] as const
export type RequestKind = (typeof requestKinds)[number]

/** Requests that were sent, those that failed and were sent again included, and the bytes of objects in them. */
export type StoreUsage = Readonly<Record<RequestKind, { readonly requests: number; readonly bytes: number }>>

/** Sends one request, perhaps several times. `bytes`: of the object's, as far as they are known. Rejections are the SDK's own errors. */
export type Ask = <A>(kind: RequestKind, bytes: number, send: (signal: AbortSignal) => Promise<A>) => Promise<A>

/** Bytes per ms that a connection must carry at least: 64 MiB then take 148 s at most. */
const slowestRate = 512

/** ms of the first pause, at most, and of the longest. They double, and half of each is random, so that writers that failed together part. */
const firstPauseMs = 100
const longestPauseMs = 5000

export class Requests {
  readonly #clock: Clock
  readonly #random: () => number
  readonly #patienceMs: number
  readonly #counts = Object.fromEntries(requestKinds.map((kind) => [kind, { requests: 0, bytes: 0 }]))

  /** `patienceMs`: after so long a request is not sent again. */
  constructor(clock: Clock, random: () => number, patienceMs: number) {
    this.#clock = clock
    this.#random = random
    this.#patienceMs = patienceMs
  }

  usage(): StoreUsage {
    const of = (kind: RequestKind) => ({ requests: 0, bytes: 0, ...this.#counts[kind] })
    return { write: of("write"), read: of("read"), list: of("list"), remove: of("remove") }
  }

  /** What sends requests until `stop` fires. */
  until(stop: AbortSignal): Ask {
    return async (kind, bytes, send) => {
      const begun = this.#clock.monotonicMs()
      for (let attempt = 0; ; attempt++) {
        try {
          this.count(kind, 1, kind === "write" ? bytes : 0)
          const milliseconds = targetDeadlines.openMs + bytes / slowestRate
          return await within(this.#clock, "the store's response", milliseconds, stop, send)
        } catch (cause) {
          const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** attempt) * (0.5 + this.#random() / 2)
          const isOver = this.#clock.monotonicMs() - begun + pauseMs > this.#patienceMs
          if (stop.aborted || isOver || !isPassing(cause)) throw cause
          await this.#pause(pauseMs, stop)
        }
      }
    }
  }

  count(kind: RequestKind, requests: number, bytes: number): void {
    const { requests: before = 0, bytes: sum = 0 } = this.#counts[kind] ?? {}
    this.#counts[kind] = { requests: before + requests, bytes: sum + bytes }
  }

  /** Ends early when `stop` fires; the next attempt then fails at once. */
  #pause(milliseconds: number, stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel()
        stop.removeEventListener("abort", end)
        resolve()
      }
      const timer = this.#clock.after(milliseconds, end)
      stop.addEventListener("abort", end)
    })
  }
}

/** Does the work for each item, some at a time. After a failure no more is begun; rejects with the first when what was begun has ended. */
export const inParallel = async <Item>(
  items: ReadonlyArray<Item>,
  limit: number,
  work: (item: Item, index: number) => Promise<unknown>,
): Promise<void> => {
  let next = 0
  let failed = false
  const run = async (): Promise<void> => {
    while (next < items.length && !failed) {
      const index = next++
      for (const item of items.slice(index, index + 1))
        await work(item, index).catch((cause: unknown) => {
          failed = true
          throw cause
        })
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: Math.min(limit, items.length) }, run))
  for (const end of ended) if (end.status === "rejected") throw end.reason
}

/** The entries of a list that arrives in pages; `next` asks for the page after a token, and returns no token with the last. */
export async function* entriesOf<Entry>(
  next: (token: string | undefined) => Promise<{ entries: ReadonlyArray<Entry>; token: string | undefined }>,
): AsyncGenerator<Entry, void> {
  let token: string | undefined
  do {
    const page = await next(token)
    yield* page.entries
    token = page.token
  } while (token !== undefined)
}

/** The bytes [from, until) of pieces that follow each other; no copy if they lie in one. */
export const sliceOf = (pieces: ReadonlyArray<Uint8Array>, from: number, until: number): Uint8Array => {
  const found: Uint8Array[] = []
  let at = 0
  for (const piece of pieces) {
    if (at < until && at + piece.length > from)
      found.push(piece.subarray(Math.max(0, from - at), Math.min(piece.length, until - at)))
    at += piece.length
  }
  return found.length === 1 && found[0] !== undefined ? found[0] : Buffer.concat(found)
}

/** Bytes of all pieces. */
export const lengthOf = (pieces: ReadonlyArray<Uint8Array>): number =>
  pieces.reduce((sum, { length }) => sum + length, 0)
