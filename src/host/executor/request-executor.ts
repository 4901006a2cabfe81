/**
 * Carries out the requests of modules at the API server, each with the identity of its module.
 *
 * Guaranteed: a request gets exactly one answer, within its module's time limit, unless it is cancelled; then none. Whatever goes wrong is an answer
 * with a `Status`. Requests of one module start in the order in which they came, at its rate, and modules take turns, so that one that floods delays
 * the others by one request. Refusals keep to the rate too, and 429 is held back for the second that it names: modules retry at once. The queue of a
 * module is bounded in requests and bytes.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { HttpRequest } from "../../kube/index.ts"
import type { GuestRequest, GuestResponse } from "../guest/abi-values.ts"
import { TokenBucket } from "../queue/rate-limiter.ts"
import { checkRequest, statusAnswer } from "./guest-request.ts"
import { type ModuleConnection, sendAs } from "./send-request.ts"

/** What one module may take of the executor, so that the others do not notice it. */
export interface ModuleLimits {
  /**
   * Requests per second, after a burst. Default 20 and 30, as client-go's clients in controller-runtime. Answers that the executor gives
   * itself count too: modules retry without a pause, and one whose kind does not exist made 550 requests a second.
   */
  readonly requestsPerSecond: number
  readonly burst: number
  /** Requests under way at the API server at the same time. Default 16. */
  readonly maximumConcurrent: number
  /** Requests that wait for their turn; further ones are answered 429. Default 256, which is 13 s at 20 a second. */
  readonly maximumQueued: number
  /** Bytes of their bodies. Default 16 MiB. */
  readonly maximumQueuedBytes: number
  /** ms from the module's request to the last byte of its response, waiting included. Default 30,000, half of the API server's own limit. */
  readonly timeoutMs: number
  /** Bytes of a request's body. Default 3 MiB, what an API server accepts. */
  readonly maximumRequestBytes: number
  /** Bytes of a response's body. Default 16 MiB: larger lists have to be read in pages. */
  readonly maximumResponseBytes: number
  /**
   * Delays and requests together that have not ended. Default 100,000, which take 30 MB. There is no answer that refuses a delay, so a module
   * beyond this limit has to be ended.
   */
  readonly maximumOperations: number
}

export const defaultLimits: ModuleLimits = {
  requestsPerSecond: 20,
  burst: 30,
  maximumConcurrent: 16,
  maximumQueued: 256,
  maximumQueuedBytes: 16 * 1024 * 1024,
  timeoutMs: 30_000,
  maximumRequestBytes: 3 * 1024 * 1024,
  maximumResponseBytes: 16 * 1024 * 1024,
  maximumOperations: 100_000,
}

/** Counters since the module was registered, and a gauge. Every request is counted in `requests`. */
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
  readonly queued: number
}

/** How a request ended. `cancelled`: without an answer, because the module has ended. */
type Ending = "answered" | "refused" | "overflowed" | "timedOut" | "failed" | "cancelled"

/** One request between its submission and its end. */
interface Pending {
  readonly module: ModuleRequests
  /** What to send, or the answer that is given instead when its turn comes. */
  readonly content: { readonly request: HttpRequest } | { readonly refusal: GuestResponse }
  readonly bytes: number
  readonly done: (response: GuestResponse) => void
  /** `held`: refused for want of room, and answered a little later. */
  state: "queued" | "running" | "held" | "over"
  deadline: Timer | undefined
  readonly abort: AbortController
}

interface RequestExecutorOptions {
  readonly clock: Pick<Clock, "monotonicMs" | "after">
  /** The connection of a module, made when it is registered, closed when it is removed. */
  readonly identity: (module: string) => ModuleConnection
  /** Requests of all modules that are under way at the same time; each holds a socket. Default 128. */
  readonly maximumConcurrent?: number
}

/** A request that was submitted. */
interface SubmittedRequest {
  /** Gives it up, without an answer; without effect once it is answered. A request that was sent may still be carried out. */
  cancel(): void
}

/** How long a 429 is held back and what it says. */
const overflowSeconds = 1

export class RequestExecutor {
  readonly #options: RequestExecutorOptions
  readonly #maximumConcurrent: number
  readonly #modules = new Map<string, ModuleRequests>()
  /** Modules that may start a request now, in turn. */
  readonly #turns: ModuleRequests[] = []
  #running = 0

  constructor(options: RequestExecutorOptions) {
    this.#options = options
    this.#maximumConcurrent = options.maximumConcurrent ?? 128
  }

  /** Registers a module. Omitted limits are {@link defaultLimits}. Throws what `identity` throws. */
  register(name: string, limits: Partial<ModuleLimits> = {}): void {
    const { clock, identity } = this.#options
    this.#modules.set(name, new ModuleRequests(name, identity(name), { ...defaultLimits, ...limits }, clock))
  }

  limitsOf(name: string): ModuleLimits | undefined {
    return this.#modules.get(name)?.limits
  }

  /** `done` gets the answer, never before this returns. A module that is not registered is answered 503. */
  submit(name: string, guestRequest: GuestRequest, done: (response: GuestResponse) => void): SubmittedRequest {
    const module = this.#modules.get(name)
    if (module === undefined) {
      let isCancelled = false
      const message = `the module ${name} is not registered with the request executor; the request was not carried out`
      queueMicrotask(() => {
        if (!isCancelled) done(statusAnswer(503, message))
      })
      return {
        cancel: () => {
          isCancelled = true
        },
      }
    }
    const { clock } = this.#options
    const { limits } = module
    const content = checkRequest(guestRequest, limits.maximumRequestBytes)
    const bytes = "request" in content ? guestRequest.body.length : 0
    const abort = new AbortController()
    const one: Pending = { module, content, bytes, done, state: "queued", deadline: undefined, abort }
    module.requests++
    module.pending.add(one)
    if (module.hasRoomFor(bytes)) {
      module.enqueue(one)
      one.deadline = clock.after(limits.timeoutMs, () => this.#timedOut(one))
      this.#resume(module)
    } else {
      one.state = "held"
      const message = `${module.queue.size} requests of the module ${name} with ${module.queuedBytes} bytes are waiting already; the request was not carried out`
      const answer = statusAnswer(429, message, overflowSeconds)
      one.deadline = clock.after(overflowSeconds * 1000, () => this.#end(one, "overflowed", answer))
    }
    return { cancel: () => this.#end(one, "cancelled") }
  }

  /** Gives up everything that a module has under way, without answers, forgets it and closes its connection. */
  remove(name: string): void {
    const module = this.#modules.get(name)
    if (module === undefined) return
    this.#modules.delete(name)
    // Those that wait go first, or the end of one that runs would start them.
    for (const one of [...module.queue, ...module.pending]) this.#end(one, "cancelled")
    module.tokenTimer?.cancel()
    module.connection.close()
  }

  statistics(name: string): RequestStatistics | undefined {
    return this.#modules.get(name)?.statistics()
  }

  /** Removes all modules. */
  close(): void {
    for (const name of [...this.#modules.keys()]) this.remove(name)
  }

  /** Something has changed that a start may have waited for. */
  #resume(module: ModuleRequests): void {
    this.#takeTurn(module)
    // One request of each module in turn, while there are places.
    while (this.#running < this.#maximumConcurrent) {
      const next = this.#turns.shift()
      if (next === undefined) return
      next.isInTurn = false
      // Its queue may have been emptied since it got into the turn.
      if (next.untilStart() === 0) this.#begin(next)
      this.#takeTurn(next)
    }
  }

  /** Puts the module among those whose turn will come if it may start a request, now or when its token comes. */
  #takeTurn(module: ModuleRequests): void {
    if (module.isInTurn || module.tokenTimer !== undefined) return
    const delayMs = module.untilStart()
    if (delayMs === undefined) return
    if (delayMs === 0) {
      module.isInTurn = true
      this.#turns.push(module)
    } else {
      module.tokenTimer = this.#options.clock.after(delayMs, () => {
        module.tokenTimer = undefined
        this.#resume(module)
      })
    }
  }

  #begin(module: ModuleRequests): void {
    const one = module.takeFirst()
    if (one === undefined) return
    one.state = "running"
    module.running++
    this.#running++
    // Also a refusal takes its turn as a microtask, so that `done` is never called within `submit`.
    void this.#carryOut(one)
  }

  async #carryOut(one: Pending): Promise<void> {
    const { module, content, abort } = one
    if ("refusal" in content) {
      await Promise.resolve()
      this.#end(one, "refused", content.refusal)
      return
    }
    const { maximumResponseBytes: maximumBytes } = module.limits
    const { answer, isOfServer } = await sendAs(module.connection, content.request, {
      maximumBytes,
      signal: abort.signal,
    })
    this.#end(one, isOfServer ? "answered" : "failed", answer)
  }

  #timedOut(one: Pending): void {
    const { limits, name } = one.module
    const within = `within ${limits.timeoutMs} ms`
    const cause = `the module ${name} asks for more than ${limits.requestsPerSecond} requests a second, or for more than ${limits.maximumConcurrent} at a time`
    const message =
      one.state === "queued"
        ? `the request did not get its turn ${within}: ${cause}; it was not carried out`
        : `no complete response of the API server ${within}; the request may have been carried out`
    this.#end(one, "timedOut", statusAnswer(504, message))
  }

  #end(one: Pending, ending: Ending, answer?: GuestResponse): void {
    if (one.state === "over") return
    const { module, state } = one
    one.state = "over"
    one.deadline?.cancel()
    module.pending.delete(one)
    module.counts[ending]++
    if (state === "queued") module.dequeue(one)
    if (state === "running") {
      module.running--
      this.#running--
      one.abort.abort()
    }
    if (answer !== undefined) one.done(answer)
    this.#resume(module)
  }
}

/** The requests of one module: its queue, its rate, its connection, and what has become of them. */
class ModuleRequests {
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
  /** Whether it waits for its turn among the modules. */
  isInTurn = false
  /** Runs until its next token. */
  tokenTimer: Timer | undefined
  readonly #clock: Pick<Clock, "monotonicMs">
  readonly limits: ModuleLimits
  readonly #bucket: TokenBucket
  /** Monotonic ms from which the oldest request may start; `undefined`: it has not taken its token. */
  #startsAt: number | undefined

  constructor(name: string, connection: ModuleConnection, limits: ModuleLimits, clock: Pick<Clock, "monotonicMs">) {
    this.name = name
    this.connection = connection
    this.#clock = clock
    this.limits = limits
    const { requestsPerSecond: perSecond, burst } = limits
    this.#bucket = new TokenBucket(clock, { perSecond, burst })
  }

  hasRoomFor(bytes: number): boolean {
    return (
      this.queue.size < this.limits.maximumQueued &&
      (this.queue.size === 0 || this.queuedBytes + bytes <= this.limits.maximumQueuedBytes)
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
    if (this.queue.size === 0 || this.running >= this.limits.maximumConcurrent) return undefined
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
    return first
  }

  statistics(): RequestStatistics {
    const { answered, refused, overflowed, timedOut, failed } = this.counts
    return { requests: this.requests, answered, refused, overflowed, timedOut, failed, queued: this.queue.size }
  }
}
