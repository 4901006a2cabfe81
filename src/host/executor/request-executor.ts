/**
 * Carries out the requests of modules at the API server, each with the identity of its module.
 *
 * Guaranteed: a request gets exactly one answer, within its module's time limit, unless it is cancelled; then none. Whatever goes wrong is
 * an answer with a `Status` that says what happened: 400, 403, 405 and 413 for a request that is not sent, 429 for one too many, 503 for no
 * response, 504 for none in time. Requests of one module start in the order in which they came, at its rate, and modules take turns, so
 * that one that floods delays the others by one request. Answers that are given without the API server keep to the rate too, and 429 is
 * held back for the second that it names: modules retry at once.
 *
 * Under overload the queue of a module is bounded in requests and bytes. One thread; nothing here blocks.
 */
import type { Clock } from "../../clock.ts"
import type { GuestRequest, GuestResponse } from "../guest/abi-values.ts"
import { checkRequest } from "./guest-request.ts"
import { defaultLimits, type ModuleLimits } from "./module-limits.ts"
import { type Ending, ModuleRequests, type Pending, type RequestStatistics } from "./module-requests.ts"
import { type ModuleConnection, sendAs } from "./send-request.ts"
import { statusAnswer } from "./status-answer.ts"
import { TimerWheel } from "./timer-wheel.ts"

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
  readonly #timers: TimerWheel<ModuleRequests, () => void>
  #running = 0

  constructor(options: RequestExecutorOptions) {
    this.#options = options
    this.#maximumConcurrent = options.maximumConcurrent ?? 128
    this.#timers = new TimerWheel(options.clock, (actions) => {
      for (const action of actions) action()
    })
  }

  /**
   * Registers a module, or changes the limits of one. Omitted limits are {@link defaultLimits}. Throws RangeError for a limit that is not
   * above 0, and what `identity` throws.
   */
  register(name: string, limits: Partial<ModuleLimits> = {}): void {
    const all = { ...defaultLimits, ...limits }
    for (const [limit, value] of Object.entries(all)) {
      if (!(value > 0)) throw new RangeError(`the limit ${limit} of module ${name} is ${value}; it must be above 0`)
    }
    const module = this.#modules.get(name)
    if (module === undefined) {
      this.#modules.set(name, new ModuleRequests(name, this.#options.identity(name), all, this.#options.clock))
      return
    }
    module.limits = all
    this.#resume(module)
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
    const { limits } = module
    const content = checkRequest(guestRequest, limits.maximumRequestBytes)
    const bytes = "request" in content ? guestRequest.body.length : 0
    const since = this.#options.clock.monotonicMs()
    const abort = new AbortController()
    const one: Pending = { module, content, bytes, since, done, state: "queued", deadline: undefined, abort }
    module.requests++
    module.pending.add(one)
    if (module.hasRoomFor(bytes)) {
      module.enqueue(one)
      one.deadline = this.#timers.add(module, limits.timeoutMs, () => this.#timedOut(one))
      this.#resume(module)
    } else {
      one.state = "held"
      const message = `${module.queue.size} requests of the module ${name} with ${module.queuedBytes} bytes are waiting already; the request was not carried out`
      const answer = statusAnswer(429, message, overflowSeconds)
      one.deadline = this.#timers.add(module, overflowSeconds * 1000, () => this.#end(one, "overflowed", answer))
    }
    return { cancel: () => this.#end(one, "cancelled") }
  }

  /** Gives up everything that a module has under way, without answers; returns how many there were. It stays registered. */
  cancelAll(name: string): number {
    const module = this.#modules.get(name)
    if (module === undefined) return 0
    const count = module.pending.size
    // Those that wait go first, or the end of one that runs would start them.
    for (const one of [...module.queue, ...module.pending]) this.#end(one, "cancelled")
    return count
  }

  /** The same, and forgets the module and closes its connection. */
  remove(name: string): void {
    const module = this.#modules.get(name)
    if (module === undefined) return
    this.cancelAll(name)
    this.#timers.cancelAll(module)
    this.#modules.delete(name)
    module.connection.close()
  }

  /** While paused, requests of the module wait in its queue; those under way are answered. */
  setPaused(name: string, isPaused: boolean): void {
    const module = this.#modules.get(name)
    if (module === undefined || module.isPaused === isPaused) return
    module.isPaused = isPaused
    this.#resume(module)
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
      // It may have been paused, or its queue emptied, since it got into the turn.
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
      module.tokenTimer = this.#timers.add(module, delayMs, () => {
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
    module.sentBytes += one.bytes
    const { maximumResponseBytes: maximumBytes } = module.limits
    const { answer, isOfServer } = await sendAs(module.connection, content.request, {
      maximumBytes,
      signal: abort.signal,
    })
    if (isOfServer) module.receivedBytes += answer.body.length
    this.#end(one, isOfServer ? "answered" : "failed", answer)
  }

  #timedOut(one: Pending): void {
    const { limits, name, isPaused } = one.module
    const within = `within ${limits.timeoutMs} ms`
    const cause = isPaused
      ? `the module ${name} takes no answers`
      : `the module ${name} asks for more than ${limits.requestsPerSecond} requests a second, or for more than ${limits.maximumConcurrent} at a time`
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
