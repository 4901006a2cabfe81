/**
 * The modules of one thread: what they ask for goes to the hub and to the executor, what becomes of it comes back into them. An engine
 * without a thread of its own; {@link moduleWorkerBody} puts it into one.
 *
 * Guaranteed, beside what {@link ModuleRunner} does: a watch of a guest gets the changes of its subscription in order and without a gap, or
 * is ended, and then the guest lists again. That no row is missing is not believed but counted: the hub numbers the rows of a subscription. A
 * module that does not keep up is paused at the hub, where its changes are folded, so that what waits here for a module is bounded by
 * {@link pauseAboveBytes} and what is under way from the hub.
 */
import type { Clock } from "../../../clock.ts"
import { messageOf } from "../../../message-of.ts"
import type { OperationSender } from "../../executor/actor/operation-sender.ts"
import type { Completion } from "../../executor/operation-frames.ts"
import type { GuestRequest, WatchRequest } from "../../guest/abi-values.ts"
import { encodeGuestResponse } from "../../guest/abi-values.ts"
import type { Delivery } from "../../hub/deliveries.ts"
import type { HubChange } from "../../hub/hub-change.ts"
import type { Assignment, InstanceStatistics, ModuleWorkerReport } from "./definition.ts"
import { type ImageStore, type MakeGuest, ModuleRunner } from "./module-runner.ts"
import type { RunnerTable } from "./runner-table.ts"
import { type GuestWatch, type WatchValue, watchFailure, watchValueOf } from "./watch-value.ts"

export interface ModuleWorkerOptions {
  readonly clock: Pick<Clock, "monotonicMs">
  readonly table: RunnerTable
  readonly operations: Pick<OperationSender, "request" | "delay" | "end" | "flush">
  readonly report: (report: ModuleWorkerReport) => void
  /** Of the worker: tells another thread which module it is in. */
  readonly mark: { begin(slot: number): void; end(): void }
  readonly images: (assignment: Assignment) => ImageStore
  /** The number before that of the first subscription. Default 0. */
  readonly lastSubscription?: number
}

/** Bytes that may wait for one module before it is paused. */
export const pauseAboveBytes = 4 * 1024 * 1024

interface Instance {
  readonly assignment: Assignment
  readonly runner: ModuleRunner
  /** The worker's numbers of its subscriptions. */
  readonly subscriptions: Set<number>
  isPaused: boolean
}

interface Watch extends GuestWatch {
  readonly instance: Instance
  /** The guest's number. */
  readonly id: bigint
  /** The hub's number of the last row. */
  lastRow: number
}

export class ModuleWorker {
  readonly #options: ModuleWorkerOptions
  readonly #instances = new Map<string, Instance>()
  readonly #watches = new Map<number, Watch>()
  #lastSubscription: number

  constructor(options: ModuleWorkerOptions) {
    this.#options = options
    this.#lastSubscription = options.lastSubscription ?? 0
  }

  /** Adds an instance, which is entered for the first time in the table's next round. */
  load(assignment: Assignment, make: MakeGuest): void {
    const { clock, table, operations, report, mark, images } = this.#options
    const { module, incarnation, slot } = assignment
    this.release(module)
    const key = (id: bigint) => ({ module, incarnation, id })
    const runner = new ModuleRunner({
      make,
      operations: {
        watch: (id, request) => this.#watch(instance, id, request),
        request: (id, request: GuestRequest) => operations.request(key(id), request),
        delay: (id, ms) => operations.delay(key(id), ms),
      },
      images: images(assignment),
      clock,
      entry: { begin: () => mark.begin(slot), end: () => mark.end() },
      onEnded: (cause) => {
        this.release(module)
        report({ type: "ended", module, incarnation, reason: messageOf(cause) })
      },
      onUnloadFailed: (cause) => report({ type: "kept", module, reason: messageOf(cause) }),
    })
    const instance: Instance = { assignment, runner, subscriptions: new Set(), isPaused: false }
    this.#instances.set(module, instance)
    table.add(slot, runner)
  }

  /** Ends the present instance of the module, or the one with that number; without effect if it is not there. */
  release(module: string, incarnation?: number): void {
    const { table, operations, report } = this.#options
    const instance = this.#instances.get(module)
    if (instance === undefined) return
    const { assignment, subscriptions } = instance
    if (incarnation !== undefined && assignment.incarnation !== incarnation) return
    this.#instances.delete(module)
    table.remove(assignment.slot)
    operations.end({ module, incarnation: assignment.incarnation })
    for (const subscription of subscriptions) {
      this.#watches.delete(subscription)
      report({ type: "unwatched", subscription })
    }
    operations.flush()
  }

  /** Rows of a frame. Their bytes are copied, once for all modules that get the same change. */
  deliver(rows: ReadonlyArray<Delivery>): void {
    const shared = new Map<HubChange, WatchValue>()
    for (const { subscription, number, change } of rows) {
      const watch = this.#watches.get(subscription)
      // Rows of a watch that has ended meanwhile may still be under way.
      if (watch === undefined) continue
      if (number !== (watch.lastRow + 1) >>> 0) {
        this.#missed(subscription, watch, number)
        continue
      }
      watch.lastRow = number
      const value = shared.get(change) ?? watchValueOf(watch, change)
      if (value === undefined) continue
      // A mark names the kind of its watch.
      if (change.uid !== "") shared.set(change, value)
      watch.instance.runner.streamed(watch.id, value.bytes)
      if (value.isLast) this.#end(subscription, watch)
      this.#regulate(watch.instance)
    }
    this.#options.table.schedule()
  }

  /** A request or a delay is done. */
  complete({ module, incarnation, id, response }: Completion): void {
    const instance = this.#instances.get(module)
    if (instance?.assignment.incarnation !== incarnation) return
    instance.runner.completed(id, response === undefined ? undefined : encodeGuestResponse(response))
    this.#options.table.schedule()
  }

  /** A watch cannot begin, or its hub is gone: the guest gets an ERROR event, unless `code` is 0, and the end. */
  endWatch(subscription: number, code: number, reason: string, message: string): void {
    const watch = this.#watches.get(subscription)
    if (watch === undefined) return
    if (code !== 0) watch.instance.runner.streamed(watch.id, watchFailure(code, reason, message))
    this.#end(subscription, watch)
    this.#options.table.schedule()
  }

  /** After a round: what the modules asked for is sent, and those that have caught up get more. */
  afterRound(): void {
    this.#options.operations.flush()
    for (const instance of this.#instances.values()) this.#regulate(instance)
  }

  statistics(): ReadonlyArray<InstanceStatistics> {
    return [...this.#instances.values()].map(({ assignment: { module, incarnation }, runner }) => ({
      module,
      incarnation,
      ...runner.statistics(),
    }))
  }

  #watch(instance: Instance, id: bigint, request: WatchRequest): void {
    const subscription = this.#freeSubscription()
    const { module, incarnation } = instance.assignment
    const { apiVersion, kind, allowBookmarks } = request
    this.#watches.set(subscription, { instance, id, apiVersion, kind, allowBookmarks, lastRow: 0 })
    instance.subscriptions.add(subscription)
    this.#options.report({ type: "watch", module, incarnation, subscription, request })
    if (instance.isPaused) this.#tellPaused(instance, subscription)
  }

  /** The hub has 32 bits for it. */
  #freeSubscription(): number {
    do this.#lastSubscription = (this.#lastSubscription + 1) >>> 0
    while (this.#watches.has(this.#lastSubscription))
    return this.#lastSubscription
  }

  /** The guest lists again, so it gets what has been lost; that something was is a bug. */
  #missed(subscription: number, watch: Watch, number: number): void {
    const { module, incarnation } = watch.instance.assignment
    // A row that comes again has not been lost, but what follows it is as doubtful.
    const rows = Math.max(number - watch.lastRow - 1, 1)
    this.#options.report({ type: "missed", module, incarnation, rows })
    watch.instance.runner.streamed(watch.id, watchFailure(410, "Expired", `${rows} changes were lost on their way`))
    this.#end(subscription, watch)
  }

  #end(subscription: number, watch: Watch): void {
    watch.instance.runner.streamed(watch.id, undefined)
    watch.instance.subscriptions.delete(subscription)
    this.#watches.delete(subscription)
    this.#options.report({ type: "unwatched", subscription })
  }

  /** Between a quarter and the whole nothing changes, so that a module at its limit is not paused with each frame. */
  #regulate(instance: Instance): void {
    const { queuedBytes } = instance.runner
    const isPaused = queuedBytes > pauseAboveBytes || (instance.isPaused && queuedBytes > pauseAboveBytes / 4)
    if (isPaused === instance.isPaused) return
    instance.isPaused = isPaused
    for (const subscription of instance.subscriptions) this.#tellPaused(instance, subscription)
  }

  #tellPaused({ assignment, isPaused }: Instance, subscription: number): void {
    this.#options.report({ type: "paused", module: assignment.module, subscription, isPaused })
  }
}
