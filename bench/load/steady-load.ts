/**
 * Changes that arrive at a steady pace at a recorder, and how long each of them took: until the recorder had read it, and until it
 * was committed. Both begin when the generator's schedule has the event due, whether it could be written then or not, so that a
 * recorder that makes its server wait is charged for the waiting (no coordinated omission).
 *
 * *Received* is the time that the recorder gave the event, which stands in the recording; the machine's wall clock is
 * converted to the monotonic one, precise to a millisecond. *Committed* is what commit-watch.ts sees. A wall clock that is set
 * meanwhile spoils the former.
 */

import { CommitWatch, type RecordedChange, recordedChanges } from "../measuring/commit-watch.ts"
import { percentile } from "../report/statistics.ts"
import type { RunningRecorder } from "../subjects/recorder-subject.ts"
import { deployments, gvkOf } from "./bench-kinds.ts"
import type { BenchCluster, PacedOrder } from "./generator-process.ts"

/** ms beyond an order's own length for everything to be sent and committed. */
const patienceMs = 60_000

/** Events of one order: those after number `from`. */
export interface LoadOrder extends Pick<PacedOrder, "startMs"> {
  readonly from: number
  readonly events: number
  readonly perSecond: number
}

/** When an event was due, ms on the clock that all processes share; `undefined` for one of no order. */
export const dueMs = (orders: ReadonlyArray<LoadOrder>, number: number): number | undefined => {
  const order = orders.find(({ from, events }) => number > from && number <= from + events)
  return order === undefined ? undefined : order.startMs + ((number - order.from) * 1000) / order.perSecond
}

/** Of the events that were due in a stretch of time. */
export interface StretchLatency {
  readonly events: number
  /** 99th percentiles, ms. */
  readonly receivedMs: number
  readonly committedMs: number
}

/** Begins with its making. Dispose of it, or the looks go on. */
export class SteadyLoad implements Disposable {
  readonly #cluster: BenchCluster
  readonly #subject: RunningRecorder
  readonly #perSecond: number
  readonly #watch: CommitWatch
  readonly #orders: Array<Promise<LoadOrder & PacedOrder>> = []
  #isWatching = true

  constructor(cluster: BenchCluster, subject: RunningRecorder, perSecond: number) {
    this.#cluster = cluster
    this.#subject = subject
    this.#perSecond = perSecond
    this.#watch = new CommitWatch(subject.dataDirectory)
  }

  /** Resolves when the last event of these seconds was given to a socket. One order at a time. */
  async during(seconds: number): Promise<void> {
    const from = this.#cluster.ordered.events
    const events = Math.ceil(seconds * this.#perSecond)
    const sent = this.#cluster
      .changeAtPace(events, this.#perSecond, patienceMs + seconds * 1000)
      .then((paced) => ({ ...paced, from, events, perSecond: this.#perSecond }))
    this.#orders.push(sent)
    await sent
  }

  /** Waits until everything is committed; then reads the recording, which takes a second. Nothing may be ordered afterwards. */
  async end(): Promise<EndedLoad> {
    const orders = await Promise.all(this.#orders)
    await this.#subject.taken(this.#cluster.ordered.changes, patienceMs)
    this[Symbol.dispose]()
    return new EndedLoad(this.#watch, orders, recordedChanges(this.#subject.dataDirectory, gvkOf(deployments)))
  }

  [Symbol.dispose](): void {
    if (this.#isWatching) this.#watch.stop()
    this.#isWatching = false
  }
}

export class EndedLoad {
  readonly #watch: CommitWatch
  readonly #orders: ReadonlyArray<LoadOrder & PacedOrder>
  /** All of the recording, in the order of their sequence numbers. */
  readonly changes: ReadonlyArray<RecordedChange>
  readonly #offsetMs = wallClockOffsetMs()

  constructor(
    watch: CommitWatch,
    orders: ReadonlyArray<LoadOrder & PacedOrder>,
    changes: ReadonlyArray<RecordedChange>,
  ) {
    this.#watch = watch
    this.#orders = orders
    this.changes = changes
  }

  /** How late the generator wrote an event at most, by its own doing or the reader's; ms. */
  get lateMs(): number {
    return Math.max(...this.#orders.map(({ lateMs }) => lateMs))
  }

  /** Of the events due from the one moment and before the other, ms on the clock that all processes share. */
  latency(fromMs: number, untilMs: number): StretchLatency {
    const due = (event: RecordedChange): number => dueMs(this.#orders, event.number) ?? Number.NaN
    const events = this.changes.filter((event) => due(event) >= fromMs && due(event) < untilMs)
    const received = events.map((event) => event.receivedMicros / 1000 - this.#offsetMs - due(event))
    const committed = this.#watch.latencies(events, (event, look) => look.monotonicMs - due(event))
    return {
      events: events.length,
      receivedMs: percentile(received, 0.99),
      committedMs: percentile(committed, 0.99),
    }
  }
}

/** ms on the clock that all processes share. */
export const sharedMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** What the wall clock is ahead of the shared one, ms: taken when a millisecond begins, because `Date.now` tells no less. */
const wallClockOffsetMs = (): number => {
  const before = Date.now()
  let now = before
  while (now === before) now = Date.now()
  return now - sharedMs()
}
