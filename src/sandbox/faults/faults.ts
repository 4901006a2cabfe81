/**
 * Faults between a client and an API server, on command.
 *
 * Every fault is scoped by the plural of a kind (`deployments`; `discovery` for everything that is not an object or
 * collection) or, by default, everything ({@link everything}). Lasting faults end with `resume` or `clear`; the others
 * happen at once or a number of times, and are counted.
 */

import {
  type Exchange,
  type ExpiredAs,
  expiredWatch,
  type Failure,
  type RequestHooks,
  type WatchRequest,
  type WatchStream,
} from "../../apiserver/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import { anyCovers, covers, everything, type RespondOptions, ScriptedAnswers } from "./scripted-answers.ts"

// Holds back or delays the responses to reads of single objects: an API server under load, as owner look-ups experience it.

class GetGate {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #waiting: Array<() => void> = []
  #holding = false
  #delay = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Reads not answered yet, held or delayed. */
  get pending(): number {
    return this.#waiting.length + this.#timers.size
  }

  hold(): void {
    this.#holding = true
  }

  /** Answers the held reads, in order of arrival, and holds no more. */
  release(): void {
    this.#holding = false
    const waiting = this.#waiting
    this.#waiting = []
    for (const answer of waiting) answer()
  }

  /** Every read that arrives from now on is delayed by this many ms; 0 ends the delay. */
  delay(milliseconds: number): void {
    this.#delay = milliseconds
  }

  pass(answer: () => void): void {
    if (this.#holding) {
      this.#waiting.push(answer)
    } else if (this.#delay > 0) {
      const timer = this.#clock.after(this.#delay, () => {
        this.#timers.delete(timer)
        answer()
      })
      this.#timers.add(timer)
    } else {
      answer()
    }
  }

  /** Drops pending reads: the clients are gone. */
  close(): void {
    this.#waiting = []
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
  }
}

/** The faults that {@link Faults.count} counts. */
export type FaultKind = "expired" | "answered" | "hung-up" | "truncated" | "slow-reader"

/** The server's connections, of all clients. */
interface Connections {
  drop(): void
  refuse(): Promise<void>
  accept(): Promise<void>
}

/** The parts of a server that the faults act on. */
interface FaultSurroundings {
  readonly connections: Connections
  readonly clock: Clock
  readonly expiredAs: ExpiredAs
  readonly user: string
}

interface Expiry {
  readonly scope: string
  readonly as: ExpiredAs
  readonly initial: boolean
  left: number
}

export class Faults {
  readonly gets: GetGate
  readonly #streams = new Set<WatchStream>()
  readonly #connections: Connections
  readonly #expiredAs: ExpiredAs
  readonly #answers: ScriptedAnswers
  readonly #counts = new Map<string, number>()
  readonly #stalled = new Set<string>()
  readonly #blackHoles = new Set<string>()
  #expiries: Expiry[] = []
  #truncations: Array<{ scope: string; bytes: number }> = []
  #parked: Array<{ exchange: Exchange; proceed: () => void }> = []

  constructor({ connections, clock, expiredAs, user }: FaultSurroundings) {
    this.#connections = connections
    this.gets = new GetGate(clock)
    this.#expiredAs = expiredAs
    this.#answers = new ScriptedAnswers(user)
  }

  /**
   * The next `times` watches that resume at a version are answered with 410. With `initial`, watches that ask for
   * initial events get it too, which no real server does. `as` defaults to the server's `expiredAs`.
   */
  forceExpired(resource: string, times: number, options: { as?: ExpiredAs; initial?: boolean } = {}): void {
    const { as = this.#expiredAs, initial = false } = options
    this.#expiries.push({ scope: resource, as, initial, left: times })
  }

  /** Every open watch gets an in-stream 410 now and ends. */
  expireWatches(resource = everything): void {
    for (const stream of this.#open(resource)) {
      this.#count("expired", stream.resource.plural)
      stream.error(expiredWatch(0n, 1n))
    }
  }

  /** Requests get a status and the body that the real server sends with it. */
  respond(resource: string, status: number, options: RespondOptions = {}): void {
    this.#answers.add(resource, status, options)
  }

  /** Cuts the connections of open watches, whatever they are doing. */
  hangUp(resource = everything): void {
    for (const stream of this.#open(resource)) {
      this.#count("hung-up", stream.resource.plural)
      stream.destroy()
    }
  }

  /** Ends open watches properly, as at the end of their timeoutSeconds. */
  endWatches(resource = everything): void {
    for (const stream of this.#open(resource)) stream.end()
  }

  /** Open and new watches get nothing but the response head; the events wait. Ended by {@link resume}. */
  stall(resource = everything): void {
    this.#stalled.add(resource)
    this.#holdStreams()
  }

  /** Requests are accepted and never answered, not even with a head; open watches fall silent. Ended by {@link resume}. */
  blackHole(resource = everything): void {
    this.#blackHoles.add(resource)
    this.#holdStreams()
  }

  /** Ends {@link stall} and {@link blackHole} of that scope (default: of all): what has waited is sent. */
  resume(resource = everything): void {
    for (const scopes of [this.#stalled, this.#blackHoles]) {
      if (resource === everything) scopes.clear()
      else scopes.delete(resource)
    }
    for (const stream of this.#streams) if (!this.#holds(stream.resource.plural)) stream.release()
    const parked = this.#parked
    this.#parked = parked.filter(({ exchange }) => this.#isBlackHole(exchange.scope))
    for (const entry of parked) if (!this.#isBlackHole(entry.exchange.scope) && entry.exchange.open) entry.proceed()
  }

  /** The next watch line is cut after that many bytes, and so is the connection. */
  truncate(resource: string, bytes: number): void {
    this.#truncations.push({ scope: resource, bytes })
  }

  /** Sends a line of text, which need not be JSON, on every open watch. */
  garbage(resource: string, text: string): void {
    for (const stream of this.#open(resource)) stream.send(Buffer.from(`${text}\n`))
  }

  /** Reads of single objects wait until {@link releaseGets}. */
  holdGets(): void {
    this.gets.hold()
  }

  releaseGets(): void {
    this.gets.release()
  }

  /** Reads of single objects are delayed by this many ms; 0 ends the delay. */
  delayGets(milliseconds: number): void {
    this.gets.delay(milliseconds)
  }

  /** Cuts every connection, idle ones included. New ones are accepted at once. */
  dropConnections(): void {
    this.#connections.drop()
  }

  /** Cuts every connection and refuses new ones (ECONNREFUSED): the API server is down. */
  refuseConnections(): Promise<void> {
    return this.#connections.refuse()
  }

  /** Listens again on the same port; rejects if another program took it meanwhile. */
  acceptConnections(): Promise<void> {
    return this.#connections.accept()
  }

  /** How often a fault has happened, for one kind or in total. */
  count(fault: FaultKind, resource = everything): number {
    if (resource !== everything) return this.#counts.get(`${fault}/${resource}`) ?? 0
    let sum = 0
    for (const [key, count] of this.#counts) if (key.startsWith(`${fault}/`)) sum += count
    return sum
  }

  /** Ends all lasting and pending faults; the counts stay. */
  clear(): void {
    this.#answers.clear()
    this.#expiries = []
    this.#truncations = []
    this.gets.delay(0)
    this.gets.release()
    this.resume()
  }

  /** Drops everything pending: the server is about to close. */
  close(): void {
    this.gets.close()
  }

  /** For the server: the hooks through which the faults intervene. */
  readonly hooks: RequestHooks = {
    receive: (exchange, proceed) => {
      if (this.#isBlackHole(exchange.scope)) this.#parked.push({ exchange, proceed })
      else proceed()
    },
    answer: (exchange, resource) => {
      const answer = this.#answers.take(exchange, resource)
      if (answer !== undefined) this.#count("answered", exchange.scope)
      return answer
    },
    read: (proceed) => this.gets.pass(proceed),
    expire: ({ plural }, request) => this.#takeExpiry(plural, request),
    open: (stream) => {
      this.#streams.add(stream)
      stream.onClose(() => this.#streams.delete(stream))
      if (this.#holds(stream.resource.plural)) stream.hold()
    },
    truncate: (plural) => this.#takeTruncation(plural),
    slowReader: (plural) => this.#count("slow-reader", plural),
  }

  #takeExpiry(plural: string, request: WatchRequest): { failure: Failure; as: ExpiredAs } | undefined {
    const version = request.start.type === "after" ? request.start.version : undefined
    const expiry = this.#expiries.find(
      ({ scope, initial, left }) => left > 0 && covers(scope, plural) && (initial || version !== undefined),
    )
    if (expiry === undefined) return undefined
    expiry.left--
    this.#count("expired", plural)
    return { failure: expiredWatch(version ?? 0n, (version ?? 0n) + 1n), as: expiry.as }
  }

  #takeTruncation(plural: string): number | undefined {
    if (this.#truncations.length === 0) return undefined
    const index = this.#truncations.findIndex(({ scope }) => covers(scope, plural))
    const [taken] = index < 0 ? [] : this.#truncations.splice(index, 1)
    if (taken !== undefined) this.#count("truncated", plural)
    return taken?.bytes
  }

  #holds(plural: string): boolean {
    return this.#isBlackHole(plural) || anyCovers(this.#stalled, plural)
  }

  #isBlackHole(scope: string): boolean {
    return anyCovers(this.#blackHoles, scope)
  }

  #open(scope: string): ReadonlyArray<WatchStream> {
    return [...this.#streams].filter((stream) => covers(scope, stream.resource.plural))
  }

  #holdStreams(): void {
    for (const stream of this.#streams) if (this.#holds(stream.resource.plural)) stream.hold()
  }

  #count(fault: FaultKind, plural: string): void {
    const key = `${fault}/${plural}`
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }
}
