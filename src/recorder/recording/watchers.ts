/**
 * The watchers of a recording: one per kind, in workers of their own or shared ones (placement.ts), linked with the store in both directions; their reports become states and notices.
 *
 * A watcher that ends is restarted, and its kind is `failing` meanwhile; one that keeps crashing is `stopped`, and the others continue.
 *
 * The set of kinds can be changed while recording. A watcher whose kind is recorded as before keeps running, and the server sees nothing of
 * the change. A watcher that is removed, or whose settings change, stops reading and delivers what it has read before it ends; its kind is
 * complete up to that point, which the store records. If a later watcher of the kind can resume from there, nothing is missing; if the
 * server no longer can, the time between is an ordinary gap. Changes are made one after another.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import {
  type ExpectedKinds,
  observationsMailbox,
  storedStateMailbox,
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
  watcherName,
} from "../../actors/index.ts"
import { type CredentialRefresh, LineBudget, shardText, VersionClock } from "../../kube/index.ts"
import { SharedThread, type Supervisor } from "../../runtime/index.ts"
import { podKind, podLivesKind } from "../../trace/index.ts"
import type { TrackedKind } from "../configuration/tracked-kind.ts"
import { RedactionKey } from "../redaction/redaction-key.ts"
import { isRefusedCertificate, withAdvice } from "../status/trouble-advice.ts"
import { ListManners } from "../watchers/list-manners.ts"
import { Placement } from "../watchers/placement.ts"
import { MailboxShares } from "./mailbox-limits.ts"
import { patiently } from "./patient-writes.ts"
import { type WatchPlan, watchPlan } from "./recorded-kinds.ts"
import type { RecordedStore } from "./recorded-store.ts"
import type { RecordingBase } from "./recording-base.ts"

/** A kind and its watcher. `gvk`: `podLivesKind` for pods watched for their lifecycles only. */
export interface RecordedWatcher {
  readonly gvk: string
  readonly watcher: Supervisor<WatcherConfig, WatcherControl, WatcherReport>
}

/** A kind that is no longer recorded. */
export interface RemovedKind {
  readonly gvk: string
  /** False: the store did not take its last events in time (a full disk); they are not in the recording. */
  readonly isDrained: boolean
  /** Up to where the stored recording is complete; absent if the store could not be asked. */
  readonly complete?: { readonly throughVersion: string; readonly untilMicros: number }
}

/** The result of changing the kinds. Kinds as in {@link RecordedWatcher}. */
export interface Reconfiguration {
  readonly added: ReadonlyArray<string>
  /** Their settings changed: they continue in another life with the new ones. */
  readonly restarted: ReadonlyArray<string>
  /** Their streams were not touched. */
  readonly kept: ReadonlyArray<string>
  readonly removed: ReadonlyArray<RemovedKind>
  /** False: the recording was being closed or could not continue, and nothing more was started. */
  readonly isComplete: boolean
}

/**
 * Bytes of unfinished lines and list items of all kinds together, beyond the 2 MiB that each may have: twice the longest line. Real servers send nothing that
 * needs any of it.
 */
const largeLinesBytes = 32 * 1024 * 1024

/** ms for a watcher to say how much it has read: a busy thread may take a while. */
const statisticsMs = 2000

/** Opens the watchers of the base's kinds; none moves to another thread after the end of the scope. */
export const openWatchers = (...parts: ConstructorParameters<typeof Watchers>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const watchers = new Watchers(...parts)
      watchers.placement.watch()
      return watchers
    }),
    ({ placement }) => Effect.sync(() => placement.stop()),
  )

class Watchers {
  readonly #base: RecordingBase
  readonly #store: RecordedStore
  readonly #credentials: CredentialRefresh
  readonly #onChange: () => void
  readonly #manners: ListManners
  readonly #redactionKey: RedactionKey
  readonly #shares = new MailboxShares()
  readonly #versions = VersionClock.memory()
  readonly #lines = LineBudget.memory()
  /** By watcher: its place in the budget of large lines, the same in all its lives. */
  readonly #slots = new Map<string, number>()
  /** `ended`: is interrupted when the watcher has ended. */
  readonly #watchers = new Map<string, RecordedWatcher & { readonly ended: Deferred.Deferred<never> }>()
  readonly placement: Placement
  #changing: Promise<unknown> = Promise.resolve()

  /** Starts them all. `onChange`: the base has other kinds. */
  constructor(base: RecordingBase, store: RecordedStore, credentials: CredentialRefresh, onChange: () => void) {
    this.#base = base
    this.#store = store
    this.#credentials = credentials
    this.#onChange = onChange
    const { listCompression: compression = "auto", userAgent, clock, directory, redactKeyFile } = base
    this.#manners = new ListManners({ compression, userAgent, timers: clock })
    this.#redactionKey = new RedactionKey({ file: redactKeyFile, directory }, base.notify, base.runPromise)
    this.placement = this.#makePlacement()
    for (const kind of base.kinds.plan.kinds.values()) this.#start(kind)
  }

  /** The current watchers, in the order of the configuration; during a change, including those that are ending. */
  get all(): ReadonlyArray<RecordedWatcher> {
    const planned = [...this.#base.kinds.plan.kinds.keys()].flatMap((gvk) => this.#watchers.get(gvk) ?? [])
    return planned.length === this.#watchers.size ? planned : [...this.#watchers.values()]
  }

  /**
   * Watches these kinds from now on: starts watchers for new kinds, ends those of removed kinds, and restarts those whose settings changed what is
   * requested or what counts as an event. All others keep their streams. Resolves when that is done, without waiting for first lists; waits for a
   * running change first. Never rejects. `ended`: kinds that the server has no longer, which exports still contain.
   */
  change(wanted: ReadonlyArray<TrackedKind>, ended: ReadonlySet<string> = new Set()): Promise<Reconfiguration> {
    const change = this.#changing.then(() => this.#change(wanted, ended))
    // A change that fails, which is a defect, must not keep the next one from happening.
    this.#changing = change.catch(() => undefined)
    return change
  }

  async #change(wanted: ReadonlyArray<TrackedKind>, ended: ReadonlySet<string>): Promise<Reconfiguration> {
    const { clock, kinds, system } = this.#base
    const before = kinds.plan
    const next = watchPlan(wanted)
    const goes = [...before.kinds.keys()].filter((gvk) => !next.kinds.has(gvk))
    const stays = [...before.kinds.keys()].filter((gvk) => next.kinds.has(gvk))
    const restarted = stays.filter((gvk) => rulesOf(before, gvk) !== rulesOf(next, gvk))
    const kept = stays.filter((gvk) => !restarted.includes(gvk))
    const added = [...next.kinds.keys()].filter((gvk) => !before.kinds.has(gvk))
    const [drained] = await Promise.all([
      Promise.all(goes.map((gvk) => this.#end(gvk))),
      Promise.all(restarted.map((gvk) => this.#end(gvk))),
    ])
    const removed = goes.map((gvk, index) => ({ gvk, isDrained: drained[index] === true }))
    const outcome = { added, restarted, kept, removed }
    if (system.isStopping) return { ...outcome, isComplete: false }
    // A store that starts from now on is given the new plan.
    kinds.change(wanted, next, ended)
    this.#onChange()
    this.#store.statuses.follow([...next.kinds.keys()], new Set(restarted), clock.wallMicros())
    const isSame = JSON.stringify(before.expected) === JSON.stringify(next.expected)
    const isTold = isSame || (await this.#tellStore(next.expected))
    if (!isTold || system.isStopping) return { ...outcome, isComplete: false }
    for (const kind of [...restarted, ...added].flatMap((gvk) => next.kinds.get(gvk) ?? [])) this.#start(kind)
    return { ...outcome, removed: await Promise.all(removed.map((kind) => this.#located(kind))), isComplete: true }
  }

  /** Has the watcher of a kind look at once whether it is installed. */
  retry(gvk: string): void {
    const watcher = this.#watchers.get(gvk)?.watcher
    if (watcher !== undefined) this.#base.run(Effect.ignore(watcher.call("retry", undefined)))
  }

  #makePlacement(): Placement {
    const { clock, entry, kinds, limitsOf, notify, runPromise, sharing, system, worker } = this.#base
    return new Placement({
      policy: sharing,
      clock,
      alone: worker("watcher"),
      openShared: (shared) => new SharedThread(entry("watcher"), limitsOf("watcher"), shared),
      watchers: () => kinds.plan.kinds.size,
      // Most clusters have most of their objects and changes in pods.
      staysAlone: (gvk) => gvk === podKind || gvk === podLivesKind,
      bytesRead: async (gvk) => {
        const watcher = this.#watchers.get(gvk)?.watcher
        return watcher && runPromise(bytesReadBy(watcher))
      },
      mayMove: (gvk) => this.#store.statuses.stateOf(gvk) === "watching" && this.#store.canWrite && !system.isStopping,
      move: async (gvk) => {
        if (this.#watchers.has(gvk)) await system.move(watcherName(gvk))
      },
      told: (sentence) => notify({ type: "placement", sentence }),
    })
  }

  /** False if the store stops first: then nothing can be recorded any more. */
  #tellStore(expected: ExpectedKinds): Promise<boolean> {
    const told = Effect.as(patiently(this.#store.actor, this.#store.actor.call("expect", expected)), true)
    return this.#base.runPromise(Effect.orElseSucceed(told, () => false))
  }

  /** Ends a watcher. What it received is committed, as far as the store accepts it in time; returns whether all of it was. */
  async #end(gvk: string): Promise<boolean> {
    const name = watcherName(gvk)
    const isDrained = await this.#base.system.remove(name)
    // It may still be waiting for the number of its life: assigned after its successor's, it would fence off the successor's frames.
    const ended = this.#watchers.get(gvk)?.ended
    if (ended !== undefined) Deferred.doneUnsafe(ended, Effect.interrupt)
    this.#watchers.delete(gvk)
    this.#base.senders.remove(name)
    this.placement.forget(gvk)
    this.#shares.release(name)
    return isDrained
  }

  async #located(kind: RemovedKind): Promise<RemovedKind> {
    const complete = await this.#base.runPromise(
      this.#store.actor.call("kindState", kind.gvk).pipe(
        Effect.map(({ resumeVersion, completeTime }) => ({ throughVersion: resumeVersion, untilMicros: completeTime })),
        Effect.orElseSucceed(() => undefined),
      ),
    )
    return complete === undefined ? kind : { ...kind, complete }
  }

  #slotOf(name: string): number {
    const slot = this.#slots.get(name) ?? this.#slots.size
    this.#slots.set(name, slot)
    return slot
  }

  #start(kind: TrackedKind): void {
    const { clock, notify, runPromise, senders, system } = this.#base
    const { statuses } = this.#store
    const gvk = kind.gvkText
    const name = watcherName(gvk)
    const ended = Deferred.makeUnsafe<never>()
    const watcher = system.spawn({
      definition: watcherDefinition,
      name,
      start: this.placement.startOf(gvk),
      config: () => this.#configOf(kind),
      incarnation: () => runPromise(Effect.raceFirst(Deferred.await(ended), this.#store.nextIncarnation(name))),
      restart: this.#base.restart,
      onStateChange: (state, reason) => {
        // Its kind is not watched until the next life reports that it is.
        if (state === "backing-off") {
          const detail = `its watcher stopped and is being restarted: ${reason.split("\n", 1)[0]}`
          statuses.set(gvk, "failing", detail, clock.wallMicros())
        }
        notify({ type: "actor", name, gvk, state, reason })
      },
      onReport: (report) => this.#heard(gvk, report.type === "state" ? advised(report) : report),
      onGaveUp: (error) => {
        const now = clock.wallMicros()
        statuses.set(gvk, "stopped", error.message, now)
        notify({ type: "stopped-kind", gvk, error })
        this.#store.noteStopped(gvk, error.message, now)
      },
    })
    this.#watchers.set(gvk, { gvk, watcher, ended })
    senders.add(watcher)
    system.link(observationsMailbox, watcher, this.#store.actor)
    system.link(storedStateMailbox(name), this.#store.actor, watcher, "upstream")
  }

  async #configOf(kind: TrackedKind): Promise<WatcherConfig> {
    const { kinds, policy, reportEvents, senders, unseenSince, userAgent } = this.#base
    const gvk = kind.gvkText
    const name = watcherName(gvk)
    const endpoint = await senders.credentialsOf(name, this.#credentials)
    const lists = await this.#manners.of(gvk, endpoint)
    const redaction = kind.redaction && { rules: kind.redaction, key: await this.#redactionKey.get() }
    return {
      ...settingsOf(kind),
      gvk,
      tracksPods: gvk === kinds.plan.podStream,
      ...{ endpoint, userAgent, policy, reportEvents, lists, redaction },
      versions: this.#versions,
      lines: { memory: this.#lines, slot: this.#slotOf(name), limitBytes: largeLinesBytes },
      unseenSince: unseenSince?.(gvk),
      ...this.#shares.take(name, kinds.plan.kinds.size),
    }
  }

  #heard(gvk: string, report: WatcherReport): void {
    const { statuses } = this.#store
    // A 401 is reported by the watcher; a certificate that is refused in the handshake ends the connection.
    const isRefused = report.type === "state" && report.state === "failing" && isRefusedCertificate(report.detail)
    if (report.type === "unauthorized" || isRefused) {
      statuses.setUnauthorized(gvk)
      this.#credentials.refresh()
    }
    if (report.type === "state") {
      const shard = this.#base.kinds.plan.kinds.get(gvk)?.shard
      const detail = shard === undefined ? report.detail : `${report.detail}; ${shardText(shard)}`
      statuses.set(gvk, report.state, detail, report.atMicros, report.namespaces)
    }
    if (report.type === "cluster") this.#store.keepClusterUid(report.uid)
    if (report.type === "resource") this.#store.keepDiscovered(report.resource)
    if (report.type === "definition") return this.#base.onDefinition?.(report.definition)
    this.#base.notify({ type: "kind", gvk, report })
  }
}

const bytesReadBy = (watcher: RecordedWatcher["watcher"]): Effect.Effect<number | undefined> =>
  watcher.call("statistics", undefined, statisticsMs).pipe(
    Effect.map(({ bytes }): number | undefined => bytes),
    Effect.orElseSucceed(() => undefined),
  )

const advised = (report: Extract<WatcherReport, { type: "state" }>): typeof report => ({
  ...report,
  detail: withAdvice(report.detail),
  namespaces: report.namespaces.map((each) => ({ ...each, detail: withAdvice(each.detail) })),
})

/** What of a kind's settings its watcher goes by, as text that can be compared: the rest is for exports. */
const rulesOf = ({ kinds, podStream }: WatchPlan, gvk: string): string => {
  const kind = kinds.get(gvk) as TrackedKind
  return JSON.stringify([gvk === podStream, ...Object.values(settingsOf(kind)).map((value) => value ?? null)])
}

/** The order of ignored fields and of namespaces has no meaning. */
const settingsOf = (kind: TrackedKind) => ({
  detect: kind.detect,
  ignore: kind.ignore.toSorted(),
  keepManagedFields: kind.keepManagedFields,
  skipOwned: kind.skipOwned === "ingest",
  labelSelector: kind.labelSelector,
  fieldSelector: kind.fieldSelector,
  namespaces: kind.namespaces?.toSorted(),
  shard: kind.shard,
  redaction: kind.redaction,
})
