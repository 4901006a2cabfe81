/**
 * The store of a recording: its actor, the states of the kinds, whether it can write, and what the recorder itself keeps in it. Only its failure ends
 * the recording.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import {
  type RetentionSettings,
  type StoreConfig,
  type StoreControl,
  type StoreReport,
  storeDefinition,
  storeName,
} from "../../actors/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import type { CallError, Supervisor } from "../../runtime/index.ts"
import type { DiscoveredKind, Gap } from "../../wire/index.ts"
import type { ReaderService } from "../export/reader-service.ts"
import type { Reach } from "../export/recording.ts"
import { type KindStatus, KindStatuses } from "../status/kind-status.ts"
import { decodeRecorderState } from "../status/recorder-state.ts"
import { patiently } from "./patient-writes.ts"
import { counter, type RecorderEnd, type RecordingBase, RecordingGone, shardRefused } from "./recording-base.ts"

// Notices from another thread that the store is silent: a file system that hangs keeps the store's thread inside one system call, so it cannot
// report that itself, nor be asked for its figures.
//
// It is asked for them every second. Until it responds, metrics and readiness show its last figures and their age. Time in which the machine
// did not run this thread either is not counted: it says nothing about the store.

/** The figures of the store that the watch reads. */
interface StoreFigures {
  /** ms since the sync began that has not ended yet; 0: none runs. */
  readonly syncingMs: number
}

/** ms between two questions. */
export const askEveryMs = 1000

/**
 * ms without an answer after which the store counts as silent: seen within 5 s of its last answer. A commit takes some ms; one of 1 MiB on a slow disk
 * took 0.4 s.
 */
export const silentAfterMs = 4000

interface StoreWatchOptions<Figures> {
  readonly clock: Clock
  /** Rejects, or resolves with `undefined`, if the store cannot be asked. */
  readonly ask: () => Promise<Figures | undefined>
  /** Called with the reason when the store falls silent, and with `undefined` when it answers again. */
  readonly onChange: (trouble: string | undefined) => void
}

export class StoreWatch<Figures extends StoreFigures> {
  readonly #options: StoreWatchOptions<Figures>
  #timer: Timer | undefined
  #isAsking = false
  #lastAnswerMs: number
  #last: Figures | undefined
  #trouble: string | undefined

  constructor(options: StoreWatchOptions<Figures>) {
    this.#options = options
    this.#lastAnswerMs = options.clock.monotonicMs()
  }

  start(): void {
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#ask()
    this.#tickLater()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** A new life of the store has begun, which counts as an answer. */
  began(): void {
    this.#last = undefined
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#judge()
  }

  /** ms since the store last answered. */
  get ageMs(): number {
    return this.#options.clock.monotonicMs() - this.#lastAnswerMs
  }

  /** What its present life answered last; `undefined` if it has not answered yet. */
  get last(): Figures | undefined {
    return this.#last
  }

  /** Why nothing is written as far as can be seen from here; `undefined` if the store answers. */
  get trouble(): string | undefined {
    return this.#trouble
  }

  #tickLater(): void {
    const { clock } = this.#options
    const due = clock.monotonicMs() + askEveryMs
    this.#timer = clock.after(askEveryMs, () => {
      const lateMs = clock.monotonicMs() - due
      if (lateMs > askEveryMs) this.#lastAnswerMs += lateMs
      this.#ask()
      this.#judge()
      this.#tickLater()
    })
  }

  #ask(): void {
    if (this.#isAsking) return
    this.#isAsking = true
    this.#options
      .ask()
      .then(
        (figures) => this.#heard(figures),
        () => this.#heard(undefined),
      )
      .finally(() => {
        this.#isAsking = false
      })
  }

  #heard(figures: Figures | undefined): void {
    if (figures === undefined || this.#timer === undefined) return
    this.#last = figures
    this.#lastAnswerMs = this.#options.clock.monotonicMs()
    this.#judge()
  }

  #judge(): void {
    const syncingMs = this.#last?.syncingMs ?? 0
    if (this.ageMs >= silentAfterMs) this.#set("the store does not respond, as when its disk hangs.")
    else if (syncingMs >= silentAfterMs) this.#set("the disk does not finish a sync.")
    else this.#set(undefined)
  }

  #set(trouble: string | undefined): void {
    if (this.#trouble === trouble) return
    this.#trouble = trouble
    this.#options.onChange(trouble)
  }
}

/** A kind's life, from the definition's acceptance to its end: µs since the Unix epoch. */
export interface UnlistedLife {
  readonly gvk: string
  readonly fromMicros: number
  readonly toMicros: number
}

/** ms that a store may take to answer whether it can be asked at all. */
const silentStoreMs = 1000

const unlisted =
  "the kind was installed and removed again before its objects could be listed; what happened to them is not known"

/** Opens the store; returns once it is open, or waits for room or for a writable disk over an existing recording. */
export const openStore = (base: RecordingBase) =>
  Effect.gen(function* () {
    const store = new RecordedStore(base)
    yield* store.isReadable
    yield* Effect.acquireRelease(
      Effect.sync(() => store.watch.start()),
      () => Effect.sync(() => store.watch.stop()),
    )
    store.keepState()
    return store
  })

export class RecordedStore {
  readonly actor: Supervisor<StoreConfig, StoreControl, StoreReport>
  readonly statuses: KindStatuses
  /** The store as seen from this thread. */
  readonly watch: StoreWatch<StoreControl["statistics"]["success"]["Type"]>
  /** An owner was named that is not recorded. */
  readonly ownersNamed = Deferred.makeUnsafe<void>()
  readonly #base: RecordingBase
  readonly #ended = Deferred.makeUnsafe<never, RecorderEnd>()
  /** It waits for a disk: it can be asked for what is recorded, although nothing can be added. */
  readonly #waiting = Deferred.makeUnsafe<void>()
  /** What the store reports itself. */
  #trouble: string | undefined
  #isRecalled = false
  #retention: RetentionSettings | undefined
  /** In how many of the recordings of this process the first lists are noted. */
  #notedLists = 0
  #isClusterHeard = false

  constructor(base: RecordingBase) {
    const { clock, kinds, runPromise, system, told } = base
    this.#base = base
    this.#retention = base.retention
    this.statuses = new KindStatuses(kinds.plan.kinds.keys(), clock.wallMicros(), () => {
      this.keepState()
      this.#noteFirstLists()
    })
    this.watch = new StoreWatch({
      clock,
      ask: () => runPromise(Effect.orElseSucceed(this.actor.call("statistics", undefined), () => undefined)),
      onChange: () => this.#tellTrouble(),
    })
    this.actor = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: base.worker("store"),
      config: () => ({
        directory: base.directory,
        fsync: base.fsync,
        asksOwners: base.looksUpOwners,
        isArchived: base.archive !== undefined,
        ...(this.#retention !== undefined && { retention: this.#retention }),
        ...(base.lease !== undefined && { lease: base.lease }),
        ...kinds.plan.expected,
      }),
      incarnation: counter(),
      restart: base.restart,
      onStateChange: (state, reason) => {
        told(storeName)(state, reason)
        if (state !== "running") return
        this.watch.began()
        // The store could open the recording. What its previous life could not write, it will find out itself.
        if (this.#trouble !== undefined) this.#setTrouble(undefined)
      },
      onReport: (report) => this.#heard(report),
      onGaveUp: (error) => Deferred.doneUnsafe(this.#ended, Effect.fail(error)),
    })
  }

  /** Fails when the recording cannot continue. */
  get ended(): Effect.Effect<never, RecorderEnd> {
    return Deferred.await(this.#ended)
  }

  /** Can be asked for what is recorded; fails if it cannot be opened. */
  get isReadable(): Effect.Effect<void, RecorderEnd | CallError> {
    const isOpen = Effect.raceFirst(patiently(this.actor, this.#recalled), Deferred.await(this.#waiting))
    return Effect.raceFirst(isOpen, this.ended)
  }

  get canWrite(): boolean {
    return this.watch.trouble === undefined && this.#trouble === undefined
  }

  /** Waits for a store that is starting or whose disk is full: that must not look like a watcher that crashes. */
  nextIncarnation(name: string): Effect.Effect<number, unknown> {
    return patiently(this.actor, this.actor.call("nextIncarnation", name))
  }

  /** How much is kept from now on. */
  setRetention(settings: RetentionSettings): void {
    this.#retention = settings
    this.#base.run(Effect.ignore(this.actor.call("setRetention", settings)))
  }

  /** Commits what was received; returns the sequence number up to which an export is complete. */
  cut(): Effect.Effect<number, { readonly message: string }> {
    const { trouble } = this.watch
    return trouble === undefined ? this.actor.call("cut", undefined) : Effect.fail({ message: trouble })
  }

  /**
   * Up to where the recording reaches now, from the best source there is: a commit; what the store, which cannot write, has committed; or what the
   * files say, if the store does not respond: it waits for its directory, is being restarted, or hangs.
   */
  reach(reader: Pick<ReaderService, "ask">) {
    return this.cut().pipe(
      Effect.map((cut): Reach => ({ cut, knownUntil: undefined })),
      Effect.catch(() => {
        const asked = this.#base.clock.wallMicros()
        // What was received since waits in memory.
        return Effect.map(
          this.actor.call("statistics", undefined, silentStoreMs),
          ({ sequence, lagMs }): Reach => ({ cut: sequence, knownUntil: Math.floor(asked - lagMs * 1000) }),
        )
      }),
      Effect.catch(() =>
        Effect.gen(function* () {
          const { cut } = yield* reader.ask("coverage", { fromTime: 0, untilTime: 0 })
          const rows = yield* reader.ask("recordedSince", undefined)
          return { cut, knownUntil: Math.max(0, ...rows.map(({ completeTime }) => completeTime + 1)) } satisfies Reach
        }),
      ),
    )
  }

  /**
   * Kinds whose first list is in progress: their earlier objects are not known, and objects not listed yet would look as if they were created
   * later. A kind that is being relisted, or resumes after a restart, has a recorded state; the header and its gap name what is missing.
   */
  firstLists(reader: Pick<ReaderService, "ask">, statuses: ReadonlyArray<KindStatus>) {
    return Effect.forEach(
      statuses.filter(({ state }) => state === "listing"),
      (status) =>
        this.actor.call("kindState", status.gvk).pipe(
          Effect.map((stored) => (isInFirstList(status, stored) ? [status.gvk] : [])),
          // The store may wait for room on the disk; what is there can be read all the same.
          Effect.catch(() =>
            Effect.map(reader.ask("recordedSince", undefined), (rows) =>
              rows.some(({ gvk }) => gvk === status.gvk) ? [] : [status.gvk],
            ),
          ),
          Effect.orElseSucceed(() => [status.gvk]),
        ),
      { concurrency: "unbounded" },
    ).pipe(Effect.map((names): ReadonlyArray<string> => names.flat()))
  }

  /** Keeps what is being recorded. Read when the store can take it: by then it may have changed again. */
  keepState(): void {
    const put = Effect.suspend(() => this.actor.call("setRecorderState", this.#base.kinds.encoded(this.statuses)))
    this.#keep("what is being recorded", Effect.andThen(this.#recalled, put))
  }

  /** Keeps what the server's discovery says of a kind. */
  keepDiscovered(kind: DiscoveredKind): void {
    this.#keep(`what discovery says of ${kind.gvk}`, this.actor.call("learnKind", kind))
  }

  keepClusterUid(uid: string): void {
    this.#isClusterHeard = true
    this.#keep("the identity of the cluster", this.actor.call("setClusterUid", uid))
  }

  /** Keeps which cluster is recorded, unless a watcher has reported it: its answer is more recent. */
  suggestClusterUid(uid: string): void {
    if (!this.#isClusterHeard) this.keepClusterUid(uid)
  }

  /** A kind is not recorded any more from `atMicros` on, in µs since the Unix epoch: a gap from its last complete version on. */
  noteStopped(gvk: string, detail: string, atMicros: number): void {
    // Each attempt writes the same gap, so it is recorded once.
    const write = Effect.flatMap(this.#kindState(gvk), ({ resumeVersion, completeTime }) =>
      // The version is also empty if each namespace has its own; then the time marks the start of the gap.
      this.#recordGap(gvk, { fromVersion: resumeVersion, fromTime: completeTime, toTime: atMicros, detail }),
    )
    this.#base.writes.put(`the gap from the point at which recording ${gvk} stopped`, write)
  }

  /** A kind was installed and is gone. If it was not complete at any moment of its life, that is a gap. */
  noteGone({ gvk, fromMicros, toMicros }: UnlistedLife): void {
    if (this.#base.system.isStopping) return
    const gap = { fromVersion: "", fromTime: fromMicros, toTime: Math.max(fromMicros, toMicros), detail: unlisted }
    const write = Effect.flatMap(this.#kindState(gvk), ({ recordedSince, completeTime }) =>
      recordedSince > 0 && completeTime > fromMicros ? Effect.void : this.#recordGap(gvk, gap),
    )
    this.#base.writes.put(`whether ${gvk} could be listed before it was gone`, write)
  }

  /** Reads what earlier recorders of the directory knew, which must happen before it is overwritten. Never returns if it is of another shard, which ends the recording. */
  get #recalled(): Effect.Effect<void, CallError> {
    return Effect.suspend(() => {
      if (this.#isRecalled) return Effect.void
      return Effect.flatMap(this.actor.call("recorderState", undefined), (text): Effect.Effect<void> => {
        const before = decodeRecorderState(text)
        const { directory, shard } = this.#base
        if (before !== undefined && before.shard !== shard) {
          Deferred.doneUnsafe(this.#ended, Effect.fail(shardRefused(directory, before.shard, shard)))
          return Effect.never
        }
        if (!this.#isRecalled && before !== undefined) {
          this.statuses.recall(before)
          this.#base.kinds.recall(before)
        }
        this.#isRecalled = true
        return Effect.void
      })
    })
  }

  #keep(what: string, write: Effect.Effect<unknown, unknown>): void {
    if (!this.#base.system.isStopping) this.#base.writes.keep(what, patiently(this.actor, write))
  }

  #kindState(gvk: string) {
    return patiently(this.actor, this.actor.call("kindState", gvk))
  }

  #recordGap(gvk: string, gap: Pick<Gap, "fromVersion" | "fromTime" | "toTime" | "detail">) {
    const whole = { ...gap, toVersion: "", reason: "stopped" as const, namespace: "" }
    return patiently(this.actor, this.actor.call("recordGap", { gvk, gap: whole }))
  }

  /** What is listed from then on was added later, and does not belong to the beginning of the recording. */
  #noteFirstLists(): void {
    const { clock, system, writes } = this.#base
    const recordings = this.statuses.setAside.length + 1
    if (system.isStopping || this.#notedLists === recordings || !this.statuses.areFirstListsOver) return
    this.#notedLists = recordings
    const note = this.actor.call("firstLists", clock.wallMicros())
    writes.put("when the first lists were complete", patiently(this.actor, note))
  }

  #heard(report: StoreReport): void {
    const { end, notify, senders, system, writes } = this.#base
    switch (report.type) {
      case "closed":
        end.events = report.events
        return
      case "gone":
        Deferred.doneUnsafe(this.#ended, Effect.fail(new RecordingGone({ message: report.message })))
        return
      case "refused":
        notify({ type: "refused", name: report.sender, reason: report.message })
        return senders.refuse(report.sender, report.incarnation, `the store rejected its data: ${report.message}`)
      case "distrusted":
        notify({ type: "distrusted", reason: report.message })
        return senders.restart(report.message)
      case "set-aside":
        this.statuses.addSetAside(report.path)
        notify(report)
        // The new recording takes nothing from lives that began before it, and has none of what was stored in the old one.
        senders.restart(`the recording was damaged: ${report.reason}`)
        return system.isStopping ? undefined : writes.again()
      case "retention":
      case "exposed":
        return notify(report)
      case "owners-named":
        Deferred.doneUnsafe(this.ownersNamed, Effect.void)
        return
      case "commit-failed":
        return this.#setTrouble(report.message)
      case "commit-recovered":
        return this.#setTrouble(undefined)
    }
  }

  #setTrouble(trouble: string | undefined): void {
    if (trouble !== undefined) Deferred.doneUnsafe(this.#waiting, Effect.void)
    this.#trouble = trouble
    this.#tellTrouble()
  }

  #tellTrouble(): void {
    const trouble = this.#trouble ?? this.watch.trouble
    this.statuses.setStoreTrouble(trouble)
    this.#base.notify({ type: "store", trouble, isCertain: this.#trouble !== undefined })
  }
}

/** `status`: of the requested namespaces. One that is forbidden or failing is named as incomplete and refuses nothing. */
const isInFirstList = ({ namespaces }: KindStatus, stored: StoreControl["kindState"]["success"]["Type"]): boolean => {
  if (namespaces.length === 0) return stored.recordedSince === 0
  const recorded = new Map(stored.namespaces.map((each) => [each.namespace, each.recordedSince]))
  return namespaces.some(({ namespace, state }) => state === "listing" && (recorded.get(namespace) ?? 0) === 0)
}
