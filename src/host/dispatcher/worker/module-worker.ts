/**
 * The modules of one thread, entered in turn: what they ask for goes to the hub and to the executor, what becomes of it comes back into them.
 * An engine without a thread of its own; `module-worker-actor.ts` puts it into one.
 *
 * Guaranteed, beside what {@link ModuleRunner} does: a module with much to do delays the others by at most {@link sliceMs} per round, apart from
 * one call that takes longer itself, and between two rounds the event loop runs, so that frames are received. A watch of a guest gets the changes of its subscription in order and without a gap, or
 * is ended, and then the guest lists again. That no row is missing is not believed but counted: the hub numbers the rows of a subscription. A
 * module that does not keep up is paused at the hub, where its changes are folded, so that what waits here for a module is bounded by
 * {@link pauseAboveBytes} and what is under way from the hub.
 */
import type { Clock } from "../../../clock.ts"
import { messageOf } from "../../../message-of.ts"
import type { Completion } from "../../executor/operation-frames.ts"
import type { OperationSender } from "../../executor/operation-sender.ts"
import { encodeGuestResponse, type WatchRequest } from "../../guest/abi-values.ts"
import type { OperationHost } from "../../guest/guest-operations.ts"
import type { Delivery } from "../../hub/deliveries.ts"
import type { HubChange } from "../../hub/hub-change.ts"
import { type EnteredRow, isFromBeginning, ModuleProgress, type WatchProgress } from "./module-progress.ts"
import { type Guest, ModuleRunner } from "./module-runner.ts"
import type { Assignment, InstanceStatistics, ModuleWorkerReport } from "./module-worker-interface.ts"
import { type GuestWatch, type WatchValue, watchFailure, watchValueOf } from "./watch-value.ts"

interface ModuleWorkerOptions {
  readonly clock: Clock
  /** Calls `action` soon, after what the event loop has waiting: setImmediate. */
  readonly soon: (action: () => void) => void
  readonly operations: Pick<OperationSender, "request" | "delay" | "end" | "flush">
  readonly report: (report: ModuleWorkerReport) => void
  /** Of the worker: tells another thread which module it is in. */
  readonly mark: { begin(slot: number): void; end(): void }
  /** Gives a number that no other subscription of the host has. */
  readonly nextSubscription: () => number
}

/** ms in which one module may be entered again and again before it is the next one's turn. */
const sliceMs = 5

/** Bytes that may wait for one module before it is paused. */
const pauseAboveBytes = 4 * 1024 * 1024

/** One instance of a module in this thread. */
interface Instance {
  readonly assignment: Assignment
  readonly runner: ModuleRunner
  /** The numbers of its subscriptions. */
  readonly subscriptions: Set<number>
  /** `undefined`: the module keeps no checkpoint. */
  readonly progress: ModuleProgress | undefined
  isPaused: boolean
}

/** One watch of a guest, or the census of one. */
interface Watch extends GuestWatch {
  readonly instance: Instance
  /** The guest's number. */
  readonly id: bigint
  /** The hub's number of the last row. */
  lastRow: number
  readonly progress: WatchProgress | undefined
  /** It begins with the present state. */
  readonly isFromBeginning: boolean
  /** The subscription of its census; one that is complete has been ended. */
  census: number | undefined
  /** It is the census of this subscription. */
  readonly censusOf: number | undefined
}

export class ModuleWorker {
  readonly #options: ModuleWorkerOptions
  readonly #instances = new Map<string, Instance>()
  readonly #watches = new Map<number, Watch>()
  #isScheduled = false

  constructor(options: ModuleWorkerOptions) {
    this.#options = options
  }

  /** Adds an instance, which is entered for the first time in the next round. `make`: an instance that calls these. */
  load(assignment: Assignment, make: (calls: OperationHost) => Guest): void {
    const { clock, operations, report, mark } = this.#options
    const { module, incarnation, slot } = assignment
    this.release(module)
    const progress = this.#progressOf(assignment)
    if (progress === "unavailable") return
    const key = (id: bigint) => ({ module, incarnation, id })
    const calls: OperationHost = {
      watch: (id, request) => this.#watch(instance, id, request),
      cancel: (id) => this.#cancel(instance, id),
      request: (id, request) => operations.request(key(id), request),
      delay: (id, ms) => operations.delay(key(id), ms),
    }
    const runner = new ModuleRunner({
      make: () => make(calls),
      clock,
      entry: { begin: () => mark.begin(slot), end: () => mark.end() },
      onEnded: (cause) => {
        this.release(module)
        report({ type: "ended", module, incarnation, reason: messageOf(cause) })
      },
    })
    const instance: Instance = { assignment, runner, subscriptions: new Set(), progress, isPaused: false }
    this.#instances.set(module, instance)
    this.#schedule()
  }

  /** Ends the present instance of the module, or the one with that number; without effect if it is not there. */
  release(module: string, incarnation?: number): void {
    const { operations, report } = this.#options
    const instance = this.#instances.get(module)
    if (instance === undefined) return
    const { assignment, runner, subscriptions, progress } = instance
    if (incarnation !== undefined && assignment.incarnation !== incarnation) return
    this.#instances.delete(module)
    runner.close()
    operations.end({ module, incarnation: assignment.incarnation })
    for (const subscription of subscriptions) {
      this.#watches.delete(subscription)
      report({ type: "unwatched", subscription, isExpired: false })
    }
    progress?.close()
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
      if (watch.progress === undefined) this.#pass(subscription, watch, change, shared)
      else this.#enter(subscription, watch, watch.progress, change)
    }
    // One commit for all rows of the frame.
    for (const { progress } of this.#instances.values()) progress?.settle()
    this.#schedule()
  }

  /** A request or a delay is done. */
  complete({ module, incarnation, id, response }: Completion): void {
    const instance = this.#instances.get(module)
    if (instance?.assignment.incarnation !== incarnation) return
    instance.runner.completed(id, response === undefined ? undefined : encodeGuestResponse(response))
    this.#schedule()
  }

  /** A watch cannot begin, or its hub is gone: the guest gets an ERROR event, unless `code` is 0, and the end. */
  endWatch(subscription: number, code: number, reason: string, message: string): void {
    const watch = this.#watches.get(subscription)
    if (watch === undefined) return
    if (watch.censusOf !== undefined) {
      // Without the census, deletions stay unknown: the guest lists again, and so gets another census.
      this.#unwatch(subscription, watch)
      return this.endWatch(watch.censusOf, code, reason, message)
    }
    if (code !== 0) watch.instance.runner.streamed(watch.id, watchFailure(code, reason, message))
    this.#end(subscription, watch)
    this.#schedule()
  }

  close(): void {
    for (const module of [...this.#instances.keys()]) this.release(module)
  }

  statistics(): ReadonlyArray<InstanceStatistics> {
    return [...this.#instances.values()].map(({ assignment: { module, incarnation }, runner, progress }) => ({
      module,
      incarnation,
      ...runner.statistics(),
      isWaitingForCheckpoint: progress?.isWaiting ?? false,
    }))
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    this.#options.soon(() => this.#round())
  }

  #round(): void {
    this.#isScheduled = false
    let isMore = false
    for (const { runner } of [...this.#instances.values()]) if (runner.run(sliceMs)) isMore = true
    // What the modules asked for is sent, and those that have caught up get more.
    this.#options.operations.flush()
    for (const instance of this.#instances.values()) this.#regulate(instance)
    if (isMore) this.#schedule()
  }

  /** `undefined` for a module without a checkpoint. One that cannot be opened ends the instance, so that it is tried again after its back-off. */
  #progressOf({ module, incarnation, checkpointDirectory }: Assignment): ModuleProgress | "unavailable" | undefined {
    const { clock, report } = this.#options
    if (checkpointDirectory === undefined) return undefined
    try {
      return new ModuleProgress({
        directory: checkpointDirectory,
        module,
        clock,
        pass: (subscription, row) => {
          const watch = this.#watches.get(subscription)
          if (watch !== undefined) this.#pass(subscription, watch, row)
        },
        changed: () => this.#schedule(),
        say: (detail) => report({ type: "checkpoint", module, detail }),
      })
    } catch (cause) {
      report({ type: "ended", module, incarnation, reason: messageOf(cause) })
      return "unavailable"
    }
  }

  #watch(instance: Instance, id: bigint, request: WatchRequest): void {
    const progress = instance.progress?.begin(request)
    const subscription = this.#subscribe(instance, id, request, progress, undefined)
    const watch = this.#watches.get(subscription)
    if (progress === undefined || watch === undefined || watch.isFromBeginning) return
    watch.census = this.#subscribe(instance, id, { ...request, resourceVersion: "" }, progress, subscription)
  }

  #subscribe(
    instance: Instance,
    id: bigint,
    request: WatchRequest,
    progress: WatchProgress | undefined,
    censusOf: number | undefined,
  ): number {
    const subscription = this.#options.nextSubscription()
    const { module, incarnation } = instance.assignment
    const { apiVersion, kind, allowBookmarks } = request
    this.#watches.set(subscription, {
      instance,
      id,
      apiVersion,
      kind,
      allowBookmarks,
      lastRow: 0,
      progress,
      isFromBeginning: isFromBeginning(request),
      census: undefined,
      censusOf,
    })
    instance.subscriptions.add(subscription)
    this.#options.report({ type: "watch", module, incarnation, subscription, request })
    if (instance.isPaused) this.#tellPaused(instance, subscription)
    return subscription
  }

  /** The guest gets what comes of the row once that is durable. */
  #enter(subscription: number, watch: Watch, progress: WatchProgress, change: HubChange): void {
    const { instance, censusOf } = watch
    if (censusOf === undefined) {
      instance.progress?.hold(subscription, progress.row(change, watch.isFromBeginning))
      return
    }
    // It was too slow for the hub.
    if (change.type === "expired")
      return this.endWatch(subscription, 410, "Expired", "the objects have changed too fast")
    instance.progress?.hold(censusOf, progress.ofCensus(change))
    if (change.type === "synced") this.#unwatch(subscription, watch)
  }

  /** `shared`: values that other watches of the same frame have got. */
  #pass(subscription: number, watch: Watch, change: EnteredRow, shared?: Map<HubChange, WatchValue>): void {
    const value = shared?.get(change) ?? watchValueOf(watch, change)
    if (value === undefined) return
    // A mark names the kind of its watch.
    if (change.uid !== "") shared?.set(change, value)
    const { runner, progress } = watch.instance
    const { known } = watch.progress ?? {}
    const { uid, generation } = change
    if (known !== undefined && generation !== undefined)
      runner.streamed(watch.id, value.bytes, () => progress?.returned(known, uid, generation))
    else runner.streamed(watch.id, value.bytes)
    if (value.isLast) this.#end(subscription, watch, true)
    this.#regulate(watch.instance)
  }

  /** The guest lists again, so it gets what has been lost; that something was is a bug. */
  #missed(subscription: number, watch: Watch, number: number): void {
    const { module, incarnation } = watch.instance.assignment
    // A row that comes again has not been lost, but what follows it is as doubtful.
    const rows = Math.max(number - watch.lastRow - 1, 1)
    this.#options.report({ type: "missed", module, incarnation, rows })
    this.endWatch(subscription, 410, "Expired", `${rows} changes were lost on their way`)
  }

  /** What waits for the guest of that watch is dropped when its turn comes. */
  #cancel({ subscriptions }: Instance, id: bigint): void {
    for (const subscription of subscriptions) {
      const watch = this.#watches.get(subscription)
      if (watch?.id === id && watch.censusOf === undefined) return this.#close(subscription, watch)
    }
  }

  #end(subscription: number, watch: Watch, isExpired = false): void {
    watch.instance.runner.streamed(watch.id, undefined)
    this.#close(subscription, watch, isExpired)
  }

  #close(subscription: number, watch: Watch, isExpired = false): void {
    const census = watch.census === undefined ? undefined : this.#watches.get(watch.census)
    if (watch.census !== undefined && census !== undefined) this.#unwatch(watch.census, census)
    if (watch.progress !== undefined) watch.instance.progress?.end(watch.progress)
    this.#unwatch(subscription, watch, isExpired)
  }

  #unwatch(subscription: number, watch: Watch, isExpired = false): void {
    watch.instance.subscriptions.delete(subscription)
    this.#watches.delete(subscription)
    this.#options.report({ type: "unwatched", subscription, isExpired })
  }

  /** Between a quarter and the whole nothing changes, so that a module at its limit is not paused with each frame. */
  #regulate(instance: Instance): void {
    const { queuedBytes } = instance.runner
    const isMuch = queuedBytes > pauseAboveBytes || (instance.isPaused && queuedBytes > pauseAboveBytes / 4)
    const isPaused = isMuch || instance.progress?.isWaiting === true
    if (isPaused === instance.isPaused) return
    instance.isPaused = isPaused
    for (const subscription of instance.subscriptions) this.#tellPaused(instance, subscription)
  }

  #tellPaused({ assignment, isPaused }: Instance, subscription: number): void {
    this.#options.report({ type: "paused", module: assignment.module, subscription, isPaused })
  }
}
