/**
 * Sends changes to a recorder at a steady rate and measures how long each of them took: until the recorder had read it, and until it was
 * committed. Both begin when the event is due in the generator's schedule, whether or not it could be written then, so that a recorder that
 * makes its server wait is charged for the waiting (no coordinated omission).
 *
 * *Received* is the event's time in the recording; the machine's wall clock is converted to the monotonic one, precise to a millisecond.
 * *Committed* is the time that commit-watch.ts observes. Setting the wall clock meanwhile invalidates the former.
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

/** A stretch of time on the clock that all processes share, ms; the end is exclusive. */
export interface Period {
  readonly fromMs: number
  readonly untilMs: number
}

/** Of the events that were due in a stretch of time. */
export interface StretchLatency {
  readonly events: number
  /** 99th percentiles, ms. */
  readonly receivedMs: number
  readonly committedMs: number
}

/** Starts when constructed. Dispose of it, or the sampling continues. */
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

  /** Resolves when the last event of this period was given to a socket. One order at a time. */
  async during(seconds: number): Promise<void> {
    const from = this.#cluster.ordered.events
    const events = Math.ceil(seconds * this.#perSecond)
    const sent = this.#cluster
      .changeAtPace(events, this.#perSecond, patienceMs + seconds * 1000)
      .then((paced) => ({ ...paced, from, events, perSecond: this.#perSecond }))
    this.#orders.push(sent)
    await sent
  }

  /** Waits until everything is committed, then reads the recording, which takes a second. Nothing may be ordered afterwards. */
  async end(): Promise<EndedLoad> {
    const orders = await Promise.all(this.#orders)
    await this.#subject.taken(this.#cluster.ordered.events, patienceMs)
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

  /** The longest delay of an event, caused by the generator or the reader; ms. */
  get lateMs(): number {
    return Math.max(...this.#orders.map(({ lateMs }) => lateMs))
  }

  /** Of the events due in this period (end exclusive), ms on the clock that all processes share. */
  latency(fromMs: number, untilMs: number): StretchLatency {
    return this.latencyIn([{ fromMs, untilMs }])
  }

  /** Of the events due in any of these periods. */
  latencyIn(periods: ReadonlyArray<Period>): StretchLatency {
    const due = (event: RecordedChange): number => dueMs(this.#orders, event.number) ?? Number.NaN
    const events = this.changes.filter((event) => {
      const at = due(event)
      return periods.some(({ fromMs, untilMs }) => at >= fromMs && at < untilMs)
    })
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

/** The wall clock minus the shared one, ms: sampled when a millisecond begins, because `Date.now` has whole milliseconds. */
const wallClockOffsetMs = (): number => {
  const before = Date.now()
  let now = before
  while (now === before) now = Date.now()
  return now - sharedMs()
}
