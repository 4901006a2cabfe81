/** The requests of one module: its queue, its rate, its connection, and what has become of them. */
import type { Clock, Timer } from "../../clock.ts"
import type { HttpRequest } from "../../kube/http/transport.ts"
import type { GuestResponse } from "../guest/abi-values.ts"
import { TokenBucket } from "../queue/rate-limiter.ts"
import type { ModuleLimits } from "./module-limits.ts"
import type { ModuleConnection } from "./send-request.ts"

/** Counters since the module was registered, and gauges. Every request is counted in `requests` and ends in exactly one of the next six. */
export interface RequestStatistics {
  readonly requests: number
  /** Responses of the API server, of any status. */
  readonly answered: number
  /** Malformed or not allowed: 400, 403, 405, 413. */
  readonly refused: number
  /** 429, because too many were waiting. */
  readonly overflowed: number
  /** 504. */
  readonly timedOut: number
  /** 503. */
  readonly failed: number
  /** Without an answer: the module ended. */
  readonly cancelled: number
  readonly queued: number
  readonly running: number
  /** ms that requests waited for their turn, in sum. */
  readonly waitedMs: number
  /** Bytes of bodies. */
  readonly sentBytes: number
  readonly receivedBytes: number
}

/** How a request ended. */
export type Ending = "answered" | "refused" | "overflowed" | "timedOut" | "failed" | "cancelled"

/** One request between its submission and its end. */
export interface Pending {
  readonly module: ModuleRequests
  /** What to send, or the answer that is given instead when its turn comes. */
  readonly content: { readonly request: HttpRequest } | { readonly refusal: GuestResponse }
  readonly bytes: number
  readonly since: number
  readonly done: (response: GuestResponse) => void
  /** `held`: refused for want of room, and answered a little later. */
  state: "queued" | "running" | "held" | "over"
  deadline: Timer | undefined
  readonly abort: AbortController
}

export class ModuleRequests {
  readonly name: string
  readonly connection: ModuleConnection
  readonly counts: Record<Ending, number> = {
    answered: 0,
    refused: 0,
    overflowed: 0,
    timedOut: 0,
    failed: 0,
    cancelled: 0,
  }
  /** All that are not over, oldest first. */
  readonly pending = new Set<Pending>()
  readonly queue = new Set<Pending>()
  queuedBytes = 0
  running = 0
  requests = 0
  waitedMs = 0
  sentBytes = 0
  receivedBytes = 0
  /** Nothing is started while the receiver of the answers takes none. */
  isPaused = false
  /** Whether it waits for its turn among the modules. */
  isInTurn = false
  /** Runs until its next token. */
  tokenTimer: Timer | undefined
  readonly #clock: Pick<Clock, "monotonicMs">
  #limits: ModuleLimits
  #bucket: TokenBucket
  /** Monotonic ms from which the oldest request may start; `undefined`: it has not taken its token. */
  #startsAt: number | undefined

  constructor(name: string, connection: ModuleConnection, limits: ModuleLimits, clock: Pick<Clock, "monotonicMs">) {
    this.name = name
    this.connection = connection
    this.#clock = clock
    this.#limits = limits
    this.#bucket = this.#newBucket()
  }

  get limits(): ModuleLimits {
    return this.#limits
  }

  /** Replaces the limits; the burst is available again if rate or burst changed. */
  set limits(limits: ModuleLimits) {
    const before = this.#limits
    this.#limits = limits
    const isSameRate = before.requestsPerSecond === limits.requestsPerSecond && before.burst === limits.burst
    if (!isSameRate) this.#bucket = this.#newBucket()
  }

  hasRoomFor(bytes: number): boolean {
    return (
      this.queue.size < this.#limits.maximumQueued &&
      (this.queue.size === 0 || this.queuedBytes + bytes <= this.#limits.maximumQueuedBytes)
    )
  }

  enqueue(one: Pending): void {
    this.queue.add(one)
    this.queuedBytes += one.bytes
  }

  dequeue(one: Pending): void {
    this.queue.delete(one)
    this.queuedBytes -= one.bytes
  }

  /** ms until the oldest request may start, for which it takes a token. `undefined`: not before another event. */
  untilStart(): number | undefined {
    if (this.isPaused || this.queue.size === 0 || this.running >= this.#limits.maximumConcurrent) return undefined
    const now = this.#clock.monotonicMs()
    this.#startsAt ??= now + this.#bucket.delayMs()
    return Math.max(0, this.#startsAt - now)
  }

  /** The oldest request, taken out of the queue with its token. */
  takeFirst(): Pending | undefined {
    const [first] = this.queue
    if (first === undefined) return undefined
    this.dequeue(first)
    this.#startsAt = undefined
    this.waitedMs += this.#clock.monotonicMs() - first.since
    return first
  }

  statistics(): RequestStatistics {
    return {
      requests: this.requests,
      ...this.counts,
      queued: this.queue.size,
      running: this.running,
      waitedMs: Math.round(this.waitedMs),
      sentBytes: this.sentBytes,
      receivedBytes: this.receivedBytes,
    }
  }

  #newBucket(): TokenBucket {
    const { requestsPerSecond: perSecond, burst } = this.#limits
    return new TokenBucket(this.#clock, { perSecond, burst })
  }
}
