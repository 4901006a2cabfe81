/**
 * A replay: drives another cluster from a trace, on time, and removes afterwards what it created.
 *
 * Guaranteed: each change is sent once it is due and never before; nothing that the target does moves the schedule, except that
 * `maximumLagMs` may delay it, which is reported; a refused object is counted with its reason and stops nothing unless `isStrict`; whatever
 * ends the replay (the end of the trace, an interruption, an error of the source), everything it created is removed, unless `keep` is set.
 * Under overload a bounded number of writes waits; then the trace is not read further, and lateness shows in the report.
 */
import { randomUUID } from "node:crypto"
import type { Clock } from "../../clock.ts"
import type { ApiClient } from "../../kube/client/api-client.ts"
import { AlreadyExistsError, ForbiddenError } from "../../kube/client/api-errors.ts"
import { kinds } from "../../kube/client/kinds.ts"
import type { ApiObject } from "../../kube/client/objects.ts"
import { messageOf } from "../../message-of.ts"
import type { TraceItem } from "../../trace/trace-item.ts"
import type { Placement } from "../objects/pod-templates.ts"
import { type ReplayRoot, replayLabel } from "../objects/target-object.ts"
import { cleanUp, RemovalUnchecked } from "../target/clean-up.ts"
import { type OnConflict, TargetCluster } from "../target/target-cluster.ts"
import { ChangesToWrites } from "./changes-to-writes.ts"
import { ReplayExists, TargetUnusable } from "./errors.ts"
import { ReplayClock, type Speed } from "./replay-clock.ts"
import type { ReplayReport } from "./replay-report.ts"
import { type ReplayWindow, traceChanges } from "./trace-changes.ts"
import { type Beginning, UpcomingChanges } from "./upcoming-changes.ts"
import { WriteDispatcher } from "./write-dispatcher.ts"

export interface ReplayOptions {
  /** Label value of everything that is created: a DNS label of at most 40 characters. */
  readonly name: string
  /** The trace, in chunks. Its errors reject the replay, after everything was removed. */
  readonly items: AsyncIterable<Iterable<TraceItem>>
  readonly window: ReplayWindow
  /** For the target. Its retry policy decides what is repeated. */
  readonly client: ApiClient
  readonly clock: Clock
  readonly speed: Speed
  /** Writes at the same time; the client must allow as many. */
  readonly concurrency: number
  /** Real ms by which an event may be late before `onLag` applies. */
  readonly maximumLagMs: number
  /** `slow`: the rest of the schedule is delayed; `fail`: the replay stops. */
  readonly onLag: "slow" | "fail"
  readonly onConflict: OnConflict
  /** The first refused object stops the replay. */
  readonly isStrict: boolean
  /** Leaves everything in the target. */
  readonly keep: boolean
  readonly namespacePrefix: string
  readonly placement: Placement
  /** Kinds without version that are replayed although they usually are not. */
  readonly included: ReadonlySet<string>
  /** Ends the replay; what was created is removed all the same. */
  readonly signal: AbortSignal
  /** Ends the removal. */
  readonly cleanUpSignal: AbortSignal
  readonly onProgress: (progress: ReplayProgress) => void
  /** Gets RemovalUnchecked, RemovalIncomplete or an ApiError. */
  readonly onRemovalFailed: (error: unknown) => void
}

export interface ReplayProgress {
  readonly phase: "seeding" | "replaying" | "cleaning up"
  /** µs since the Unix epoch, in the trace. */
  readonly position: number
  /** ms since the first moment of the trace was due. */
  readonly elapsedMs: number
  readonly accepted: number
  readonly refused: number
  /** Writes without response; while cleaning up, objects that are left. */
  readonly pending: number
  /** Of the last response: ms since its event was due. */
  readonly lagMs: number
}

/** Tells the root of one run from that of another of the same name. */
const runAnnotation = "kubereel.dev/run"

/** Submissions after which sockets get a turn: a burst must not keep its own responses waiting. */
const burst = 32

export class Replay {
  readonly #options: ReplayOptions
  readonly #stopping = new AbortController()
  #clock: ReplayClock | undefined
  #dispatcher: WriteDispatcher | undefined
  #phase: ReplayProgress["phase"] = "seeding"
  #isSpeedChanged = false
  #stopped: string | null = null
  /** µs: the change that was submitted last. */
  #position = 0
  #startedMs = 0
  #wake: () => void = () => undefined

  constructor(options: ReplayOptions) {
    this.#options = options
    const interrupt = (): void => this.#stop("interrupted")
    if (options.signal.aborted) interrupt()
    else options.signal.addEventListener("abort", interrupt, { once: true })
  }

  /** Without effect before the first change is due. */
  pause(): void {
    this.#clock?.pause(this.#now)
  }

  resume(): void {
    this.#clock?.resume(this.#now)
    this.#wake()
  }

  setSpeed(speed: Speed): void {
    this.#isSpeedChanged = true
    this.#clock?.setSpeed(speed, this.#now)
    this.#wake()
  }

  get isPaused(): boolean {
    return this.#clock?.isPaused ?? false
  }

  /**
   * Rejects with a ReplayError or the error of the source; what the removal fails with goes to `onRemovalFailed`, so that it hides neither
   * the report nor that error. Call it once.
   */
  async run(): Promise<ReplayReport> {
    const upcoming = new UpcomingChanges(traceChanges(this.#options.items, this.#options.window))
    try {
      // Before anything is created: the trace may not be one.
      const beginning = await upcoming.open()
      this.#position = beginning.time
      const root = await this.#createRoot()
      try {
        return await this.#replay(root, beginning, upcoming)
      } finally {
        this.#phase = "cleaning up"
        if (!this.#options.keep) await this.#cleanUp()
      }
    } finally {
      upcoming.close()
    }
  }

  /** A creation whose response is lost is repeated, and then finds its own namespace. */
  async #createRoot(): Promise<ReplayRoot> {
    const { client, name } = this.#options
    const run = randomUUID()
    const metadata = {
      name: `kubereel-replay-${name}`,
      labels: { [replayLabel]: name },
      annotations: { [runAnnotation]: run },
    }
    try {
      const root = await this.#createOrFind({ apiVersion: "v1", kind: "Namespace", metadata })
      if (root.metadata.annotations?.[runAnnotation] !== run) throw new ReplayExists({ replay: name })
      return { apiVersion: "v1", kind: "Namespace", name: metadata.name, uid: root.metadata.uid ?? "" }
    } catch (error) {
      if (error instanceof ReplayExists) throw error
      // Its response may be what is missing.
      if (!(error instanceof ForbiddenError)) await client.delete(kinds.namespaces, metadata).catch(() => undefined)
      throw new TargetUnusable({ detail: messageOf(error), isForbidden: error instanceof ForbiddenError })
    }
  }

  async #createOrFind(object: ApiObject): Promise<ApiObject> {
    const { client } = this.#options
    try {
      return await client.create<ApiObject>(kinds.namespaces, object)
    } catch (error) {
      if (error instanceof AlreadyExistsError) return await client.get<ApiObject>(kinds.namespaces, object.metadata)
      throw error
    }
  }

  async #replay(root: ReplayRoot, beginning: Beginning, upcoming: UpcomingChanges): Promise<ReplayReport> {
    const { name, client, clock, onConflict, concurrency, namespacePrefix, placement, included } = this.#options
    const { signal } = this.#stopping
    const planner = new ChangesToWrites({ replay: name, namespacePrefix, placement, root }, included)
    const defects: unknown[] = []
    const dispatcher = new WriteDispatcher({
      target: new TargetCluster({ client, clock, onConflict, signal, own: { replay: name, root } }),
      planner,
      clock,
      concurrency,
      signal,
      onRefused: (gvk, message) => {
        if (this.#options.isStrict) this.#stop(`${gvk} was refused: ${message}`)
      },
      onSettled: () => this.#progress(),
      onDefect: (error) => {
        defects.push(error)
        this.#stop("a defect")
      },
    })
    this.#dispatcher = dispatcher
    const { time, header, objects } = beginning
    for (const config of upcoming.configurations) planner.configure(config)
    planner.expectKinds(header?.kinds ?? [])
    planner.expect(objects)
    try {
      const seedStartedMs = this.#now
      await dispatcher.writeSeed(objects)
      const seedMs = this.#now - seedStartedMs
      upcoming.start(planner)
      const startedAt = new Date(clock.wallMicros() / 1000).toISOString()
      await this.#dispatch(time, upcoming, dispatcher)
      await dispatcher.idle()
      if (defects.length > 0) throw defects[0]
      return this.#report(dispatcher, upcoming, { start: time, seedMs, startedAt })
    } finally {
      // After an error of the source, what was sent settles before it is removed.
      this.#stopping.abort()
      await dispatcher.idle()
    }
  }

  /** Submits each change once it is due, then waits for the end of the trace. */
  async #dispatch(start: number, upcoming: UpcomingChanges, dispatcher: WriteDispatcher): Promise<void> {
    const { signal } = this.#stopping
    this.#phase = "replaying"
    this.#startedMs = this.#now
    const clock = new ReplayClock(start, this.#options.speed, this.#startedMs)
    this.#clock = clock
    for (let submitted = 1; !signal.aborted && !upcoming.isOver; ) {
      const { head } = upcoming
      const waitMs = head === undefined ? Number.POSITIVE_INFINITY : clock.dueMs(head.change.time) - this.#now
      if (head === undefined || waitMs > 0) {
        await this.#sleep(waitMs, upcoming.readAhead())
        continue
      }
      upcoming.take()
      this.#position = head.change.time
      // Without a schedule an event is due when its turn comes. What is late stays late, also if the rest is delayed for it.
      const dueMs = clock.speed === "max" ? this.#now : clock.dueMs(head.change.time)
      if (clock.speed !== "max") this.#keepUp(-waitMs, clock)
      clock.reached(head.change.time)
      dispatcher.submit(head, dueMs)
      await dispatcher.room()
      if (submitted++ % burst === 0) await new Promise(setImmediate)
    }
    while (!signal.aborted && clock.dueMs(upcoming.end) > this.#now)
      await this.#sleep(clock.dueMs(upcoming.end) - this.#now, undefined)
  }

  #keepUp(lateMs: number, clock: ReplayClock): void {
    const { maximumLagMs, onLag } = this.#options
    if (lateMs <= maximumLagMs) return
    if (onLag === "slow") clock.delay(lateMs)
    else this.#stop(`the target could not keep up: an event was ${(lateMs / 1000).toFixed(1)} s late`)
  }

  /** Until the time has passed, more of the trace was read, the schedule has changed, or the replay was stopped. */
  async #sleep(ms: number, reading: Promise<void> | undefined): Promise<void> {
    this.#progress()
    let cancel = (): void => undefined
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
      if (this.#stopping.signal.aborted) return resolve()
      if (ms === Number.POSITIVE_INFINITY) return
      const timer = this.#options.clock.after(ms, resolve)
      cancel = () => timer.cancel()
    })
    try {
      await (reading === undefined ? woken : Promise.race([woken, reading]))
    } finally {
      cancel()
    }
  }

  #stop(reason: string): void {
    this.#stopped ??= reason
    this.#stopping.abort()
    this.#wake()
  }

  async #cleanUp(): Promise<void> {
    const { client, clock, name, cleanUpSignal, onRemovalFailed } = this.#options
    try {
      const onProgress = (left: number): void => this.#progress(left)
      const { unchecked } = await cleanUp({ client, clock, replay: name, signal: cleanUpSignal, onProgress })
      if (unchecked.length > 0) onRemovalFailed(new RemovalUnchecked({ replay: name, unchecked }))
    } catch (error) {
      onRemovalFailed(error)
    }
  }

  get #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #progress(left?: number): void {
    const dispatcher = this.#dispatcher
    if (dispatcher === undefined) return
    const { accepted, refused } = (this.#phase === "seeding" ? dispatcher.seed : dispatcher.events).counts
    this.#options.onProgress({
      phase: this.#phase,
      position: this.#clock?.positionMicros(this.#now) ?? this.#position,
      elapsedMs: this.#now - this.#startedMs,
      accepted,
      refused,
      pending: left ?? dispatcher.pending,
      lagMs: dispatcher.lagMs,
    })
  }

  #report(
    { seed, events, punctuality }: WriteDispatcher,
    { end, gaps }: UpcomingChanges,
    { start, seedMs, startedAt }: { readonly start: number; readonly seedMs: number; readonly startedAt: string },
  ): ReplayReport {
    const { name, speed } = this.#options
    const isPlain = speed !== "max" && !this.#isSpeedChanged && this.#stopped === null
    return {
      version: 1,
      replay: name,
      speed,
      startedAt,
      trace: { start, end: this.#stopped === null ? end : this.#position },
      run: {
        durationMs: this.#now - this.#startedMs,
        expectedMs: isPlain ? (end - start) / 1000 / speed : null,
        delayedMs: this.#clock?.delayedMs ?? 0,
      },
      stopped: this.#stopped,
      seed: { ...seed.counts, durationMs: seedMs },
      events: events.counts,
      dispatchErrorMs: punctuality.dispatchErrorMs,
      lagMs: punctuality.lagMs,
      gaps,
      refused: [...seed.refusals, ...events.refusals],
      skipped: [...seed.skips, ...events.skips],
      latest: punctuality.latest,
    }
  }
}
