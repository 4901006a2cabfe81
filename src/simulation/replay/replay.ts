/**
 * A replay: drives another cluster from a trace, on time, and removes afterwards what it created, whatever ends it,
 * unless `keep` is set. Nothing that the target does moves the schedule, except by `maximumLagMs`. A refused object
 * is counted and stops nothing unless `isStrict`. Under overload a bounded number of writes waits, and the trace is
 * not read further.
 */
import type { ReplayRoot } from "../objects/target-object.ts"
import type { ReplayReport } from "../report/replay-report.ts"
import type { Speed } from "../schedule/replay-clock.ts"
import { TargetCluster } from "../target/target-cluster.ts"
import { ChangesToWrites } from "./changes-to-writes.ts"
import { DueChanges } from "./due-changes.ts"
import type { ReplayOptions, ReplayProgress } from "./replay-options.ts"
import { namespaceRoot, type RootKeeper, refuseCluster } from "./replay-root.ts"
import { traceChanges } from "./trace-changes.ts"
import { type Beginning, UpcomingChanges } from "./upcoming-changes.ts"
import { WriteDispatcher } from "./write-dispatcher.ts"

export type { ReplayOptions } from "./replay-options.ts"

/** What is known when the first change is due. */
interface StartFacts extends Pick<ReplayReport, "startedAt" | "incomplete" | "warnings"> {
  /** µs since the Unix epoch. */
  readonly start: number
  readonly seedMs: number
}

/** Submissions after which sockets get a turn: a burst must not keep its own responses waiting. */
const burst = 32

/** One run. Construct it and call {@link Replay.run} once; pause, speed and steps may be requested at any time, also before. */
export class Replay {
  readonly #options: ReplayOptions
  readonly #root: RootKeeper
  readonly #stopping = new AbortController()
  #due: DueChanges | undefined
  #dispatcher: WriteDispatcher | undefined
  #phase: ReplayProgress["phase"] = "seeding"
  #speed: Speed
  #isPaused: boolean
  /** Whether speed and trace alone say how long the run takes. */
  #isPlain = true
  /** Requested before the first change. */
  #steps = 0
  #stopped: string | null = null
  /** The end of the trace has been due. */
  #isPlayed = false
  /** µs: the change that was submitted last. */
  #position = 0
  #startedMs = 0
  /** While cleaning up: labelled objects that are left. */
  #left: number | undefined

  constructor(options: ReplayOptions) {
    this.#options = options
    this.#root = options.root ?? namespaceRoot({ ...options, replay: options.name })
    this.#speed = options.speed
    this.#isPaused = options.startsPaused
  }

  /** Before the first change is due: the state at the start is created all the same, then the replay waits. */
  pause(): void {
    this.#isPaused = true
    this.#due?.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#steps = 0
    this.#due?.resume()
  }

  setSpeed(speed: Speed): void {
    this.#isPlain &&= this.#due === undefined
    this.#speed = speed
    this.#due?.setSpeed(speed)
  }

  /** While it is paused: everything of the next `moments` moments of the trace that have changes is due now. Otherwise without effect. */
  step(moments = 1): void {
    if (!this.#isPaused || this.isOver) return
    this.#isPlain = false
    if (this.#due === undefined) this.#steps += moments
    else this.#due.step(moments)
  }

  /** No moment of the trace is left that a step could go to. */
  get isOver(): boolean {
    return this.#isPlayed || this.#stopped !== null
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  get speed(): Speed {
    return this.#speed
  }

  /** What has become of the changes so far; `undefined` before the first is sent. */
  get outcomes(): Pick<WriteDispatcher, "seed" | "events"> | undefined {
    return this.#dispatcher
  }

  /**
   * Rejects with an error of errors.ts or that of the source; what the removal fails with goes to `onRemovalFailed`, so that it hides neither
   * the report nor that error. Call it once.
   */
  async run(): Promise<ReplayReport> {
    const { items, window, signal, witness, isPipe } = this.#options
    // A pipe may never end.
    const upcoming = new UpcomingChanges(traceChanges(items, window, witness !== undefined && !isPipe))
    const interrupt = (): void => this.#stop("interrupted")
    if (signal.aborted) interrupt()
    else signal.addEventListener("abort", interrupt)
    try {
      // Before anything is created: the trace may not be one.
      const beginning = await upcoming.open()
      this.#position = beginning.time
      const { client, intoRecordedCluster } = this.#options
      const recorded = beginning.header?.clusterUid
      if (recorded !== undefined && !intoRecordedCluster) await refuseCluster(client, recorded)
      const root = await this.#root.create()
      try {
        return await this.#replay(root, beginning, upcoming)
      } finally {
        this.#phase = "cleaning up"
        if (!this.#options.keep) await this.#cleanUp()
      }
    } finally {
      // A replay may be one of many that the signal outlives.
      signal.removeEventListener("abort", interrupt)
      upcoming.close()
    }
  }

  async #replay(root: ReplayRoot, beginning: Beginning, upcoming: UpcomingChanges): Promise<ReplayReport> {
    const {
      name,
      simulation,
      client,
      clock,
      onConflict,
      concurrency,
      namespacePrefix,
      placement,
      included,
      seededStatus,
      witness,
    } = this.#options
    const { signal } = this.#stopping
    const own = { replay: name, root, simulation }
    const rewriting = { ...own, namespacePrefix, placement }
    const planner = new ChangesToWrites(rewriting, included, seededStatus, this.#options.onUndefinedKind)
    const { time, header, objects } = beginning
    for (const config of upcoming.configurations) planner.configure(config)
    planner.expectKinds(header?.kinds ?? [])
    planner.expect(objects)
    const pods = await this.#options.followPods?.({
      own,
      clock,
      namespacePrefix,
      placement,
      startMicros: time,
      kinds: header?.kinds ?? [],
      hasLifecycles: header?.hasLifecycles === true,
      configurations: upcoming.configurations,
      speed: () => this.#speed,
      schedule: () => this.#due?.schedule,
      signal,
      cleanUpSignal: this.#options.cleanUpSignal,
    })
    const defects: unknown[] = []
    const dispatcher = new WriteDispatcher({
      target: new TargetCluster({ client, clock, onConflict, signal, own }),
      planner,
      clock,
      concurrency,
      signal,
      onRefused: (gvk, message) => {
        if (this.#options.isStrict) this.#stop(`${gvk} was refused: ${message}`)
      },
      onDeleting: (place) => pods?.deleting(place),
      onSettled: () => this.#tell(),
      onDefect: (error) => {
        defects.push(error)
        this.#stop("a defect")
      },
      witness,
    })
    this.#dispatcher = dispatcher
    await witness?.begin(planner.kinds, signal)
    try {
      const seedStartedMs = this.#now
      await dispatcher.writeSeed(objects)
      const seedMs = this.#now - seedStartedMs
      upcoming.start(planner, {
        onKind: (gvk) => witness?.expectKind(gvk),
        onLives: (owned) => witness?.lives(owned),
      })
      const startedAt = new Date(clock.wallMicros() / 1000).toISOString()
      await this.#dispatch(time, upcoming, dispatcher)
      await dispatcher.idle()
      if (defects.length > 0) throw defects[0]
      const warnings = [...planner.warnings]
      const facts = { start: time, seedMs, startedAt, warnings, incomplete: header?.incomplete ?? [] }
      const report = this.#report(dispatcher, upcoming, facts)
      const lives = await pods?.count(report.trace.end)
      if (witness !== undefined) {
        this.#phase = "settling"
        this.#tell()
        const [unread] = await Promise.all([upcoming.readLives(signal), witness.end(report.trace.end, signal)])
        if (unread !== undefined) warnings.push(unread)
      }
      return { ...report, ...(lives !== undefined && { lives }), stopped: this.#stopped, warnings }
    } finally {
      // After an error of the source, what was sent settles before it is removed.
      this.#stopping.abort()
      await dispatcher.idle()
      await pods?.close(this.#options.cleanUpSignal)
    }
  }

  /** Submits each change once it is due, then waits for the end of the trace. */
  async #dispatch(start: number, upcoming: UpcomingChanges, dispatcher: WriteDispatcher): Promise<void> {
    this.#phase = "replaying"
    this.#startedMs = this.#now
    const due = new DueChanges({
      ...this.#options,
      upcoming,
      start,
      speed: this.#speed,
      isPaused: this.#isPaused,
      onTooLate: (ms) => this.#stop(`the target could not keep up: an event was ${(ms / 1000).toFixed(1)} s late`),
      onWait: () => this.#tell(),
      signal: this.#stopping.signal,
    })
    this.#due = due
    this.#options.witness?.started(this.#startedMs, { start, dueMs: (moment) => due.schedule.dueMs(moment) })
    due.step(this.#steps)
    for (let submitted = 1, next = await due.next(); next !== undefined; next = await due.next()) {
      this.#position = next.upcoming.change.time
      dispatcher.submit(next.upcoming, next)
      await dispatcher.room()
      if (submitted++ % burst === 0) await new Promise(setImmediate)
    }
    await due.end()
    this.#isPlayed = true
    // The clock continues; the trace does not.
    if (this.#stopped === null) this.#position = upcoming.end
  }

  #stop(reason: string): void {
    this.#stopped ??= reason
    this.#stopping.abort()
  }

  async #cleanUp(): Promise<void> {
    const { cleanUpSignal, onRemovalFailed } = this.#options
    try {
      const onProgress = (left: number): void => {
        this.#left = left
        this.#tell()
      }
      await this.#root.remove({ signal: cleanUpSignal, onProgress })
    } catch (error) {
      onRemovalFailed(error)
    }
  }

  get #now(): number {
    return this.#options.clock.monotonicMs()
  }

  get progress(): ReplayProgress {
    const dispatcher = this.#dispatcher
    const counts = this.#phase === "seeding" ? dispatcher?.seed.counts : dispatcher?.events.counts
    return {
      phase: this.#phase,
      position: this.#phase === "replaying" ? (this.#due?.position ?? this.#position) : this.#position,
      elapsedMs: this.#due === undefined ? 0 : this.#now - this.#startedMs,
      isPaused: this.#isPaused,
      speed: this.#speed,
      delayedMs: this.#due?.delayedMs ?? 0,
      accepted: counts?.accepted ?? 0,
      refused: counts?.refused ?? 0,
      pending: this.#left ?? dispatcher?.pending ?? 0,
      lagMs: dispatcher?.lagMs ?? 0,
    }
  }

  #tell(): void {
    this.#options.onProgress(this.progress)
  }

  #report(
    { seed, events, punctuality }: WriteDispatcher,
    { end, gaps }: UpcomingChanges,
    { start, seedMs, startedAt, warnings, incomplete }: StartFacts,
  ): ReplayReport {
    const { name } = this.#options
    const speed = this.#speed
    const isPlain = speed !== "max" && this.#isPlain && this.#stopped === null
    return {
      version: 1,
      replay: name,
      speed,
      startedAt,
      trace: { start, end: this.#stopped === null ? end : this.#position },
      run: {
        durationMs: this.#now - this.#startedMs,
        expectedMs: isPlain ? (end - start) / 1000 / speed : null,
        delayedMs: this.#due?.delayedMs ?? 0,
        pausedMs: this.#due?.pausedMs ?? 0,
      },
      stopped: this.#stopped,
      seed: { ...seed.counts, durationMs: seedMs },
      events: events.counts,
      dispatchErrorMs: punctuality.dispatchErrorMs,
      lagMs: punctuality.lagMs,
      gaps,
      incomplete,
      refused: [...seed.refusals, ...events.refusals],
      skipped: [...seed.skips, ...events.skips],
      warnings,
      latest: punctuality.latest,
    }
  }
}
