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
import * as Effect from "effect/Effect"
import { observationsMailbox, storedStateMailbox, watcherName } from "../../actors/names.ts"
import type { ExpectedKinds, storeDefinition } from "../../actors/store/definition.ts"
import {
  type WatcherConfig,
  type WatcherControl,
  type WatcherReport,
  watcherDefinition,
} from "../../actors/watcher/definition.ts"
import type { KindDefinition } from "../../actors/watcher/definitions.ts"
import type { Clock } from "../../clock.ts"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { LineBudget } from "../../kube/scanner/line-budget.ts"
import { VersionClock } from "../../kube/watch/liveness/version-clock.ts"
import type { WatchPolicy } from "../../kube/watch/protocol/policy.ts"
import type { ListManner } from "../../kube/watch/session-options.ts"
import type { ActorSystem } from "../../runtime/actor-system.ts"
import type { ActorGaveUp } from "../../runtime/errors.ts"
import type { RestartPolicy, Supervisor } from "../../runtime/supervisor.ts"
import type { StartThread } from "../../runtime/thread.ts"
import { podKind, podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { DiscoveredKind } from "../../wire/discovered-kind.ts"
import { recordedWhole, type TrackedKind } from "../configuration/tracked-kind.ts"
import type { RecorderNotice } from "../notices/recorder-notice.ts"
import type { KindStatuses } from "../status/kind-status.ts"
import { isRefusedCertificate, withAdvice } from "../status/trouble-advice.ts"
import { type MailboxLimits, MailboxShares } from "./mailbox-limits.ts"
import { patiently } from "./patient-writes.ts"
import { Placement, type PlacementOptions, type SharingPolicy } from "./placement.ts"
import { watchedKinds } from "./pod-stream.ts"

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

interface WatchersOptions {
  readonly userAgent: string
  readonly policy: WatchPolicy
  /** Report each recorded event, for the debug log. */
  readonly reportEvents: boolean
  readonly notify: (notice: RecorderNotice) => void
  /** Starts a worker for one watcher. */
  readonly start: StartThread
  readonly openShared: PlacementOptions["openShared"]
  readonly sharing: SharingPolicy
  /** Whether the store can write, as far as is known. */
  readonly canStore: () => boolean
  /** The current address and credentials for the actor of that name. */
  readonly endpoint: (name: string) => Promise<ApiEndpoint>
  /** How to list the kind. */
  readonly lists: (gvk: string, endpoint: ApiEndpoint) => Promise<ListManner>
  /** The key of the hashes that stand for redacted values; called only for kinds that have any. */
  readonly redactionKey: () => Promise<Uint8Array>
  /** Runs in the scope of the recorder. */
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
  /** The store numbers their lives, because it remembers their messages. Not called any more once `ended` is aborted. */
  readonly nextIncarnation: (name: string, ended: AbortSignal) => Promise<number>
  readonly restart: RestartPolicy
  readonly statuses: KindStatuses
  readonly clock: Clock
  readonly onCluster: (uid: string) => void
  /** What the server's discovery says of a kind, when it is first known and when it changes. */
  readonly onResource: (kind: DiscoveredKind) => void
  readonly onDefinition: (definition: KindDefinition) => void
  /** As in the watcher's configuration, by kind. */
  readonly unseenSince: (gvk: string) => number | undefined
  readonly onUnauthorized: () => void
  readonly onGaveUp: (gvk: string, error: ActorGaveUp) => void
}

/** The calls to the store that its watchers need. */
export type WatchedStore = Pick<
  Supervisor<never, typeof storeDefinition.control, never>,
  "name" | "call" | "running" | "state"
>

/** The kinds to watch. */
interface WatchPlan {
  /** By kind, in the order of the configuration. */
  readonly kinds: ReadonlyMap<string, TrackedKind>
  /** The kind whose watcher follows pod lifecycles; `undefined` if none does. */
  readonly podStream: string | undefined
  /** The same, as the store expects it. */
  readonly expected: ExpectedKinds
}

export const watchPlan = (configured: ReadonlyArray<TrackedKind>): WatchPlan => {
  const { kinds, podStream } = watchedKinds(configured)
  const watchers = kinds.map(({ gvkText }) => ({
    name: watcherName(gvkText),
    gvk: gvkText,
    tracksPods: gvkText === podStream,
  }))
  return {
    kinds: new Map(kinds.map((kind) => [kind.gvkText, kind])),
    podStream,
    expected: { watchers, recordedKinds: recordedWhole(configured) },
  }
}

/**
 * Bytes of unfinished lines and list items of all kinds together, beyond the 2 MiB that each may have: twice the longest line. Real servers send nothing that
 * needs any of it.
 */
const largeLinesBytes = 32 * 1024 * 1024

/** ms for a watcher to say how much it has read: a busy thread may take a while. */
const statisticsMs = 2000

export class Watchers {
  readonly #system: ActorSystem
  readonly #store: WatchedStore
  readonly #options: WatchersOptions
  readonly #shares = new MailboxShares()
  readonly #versions = VersionClock.memory()
  readonly #lines = LineBudget.memory()
  /** By watcher: its place in the budget of large lines, the same in all its lives. */
  readonly #slots = new Map<string, number>()
  readonly #watchers = new Map<string, RecordedWatcher>()
  /** By kind, aborted when its watcher has ended. */
  readonly #ends = new Map<string, AbortController>()
  readonly placement: Placement
  #plan: WatchPlan

  /** Starts them all. */
  constructor(system: ActorSystem, store: WatchedStore, plan: WatchPlan, options: WatchersOptions) {
    this.#system = system
    this.#store = store
    this.#plan = plan
    this.#options = options
    this.placement = this.#makePlacement(options)
    for (const kind of plan.kinds.values()) this.#start(kind)
  }

  /** The current watchers, in the order of the configuration; during a change, including those that are ending. */
  get all(): ReadonlyArray<RecordedWatcher> {
    const planned = [...this.#plan.kinds.keys()].flatMap((gvk) => this.#watchers.get(gvk) ?? [])
    return planned.length === this.#watchers.size ? planned : [...this.#watchers.values()]
  }

  /**
   * Watches these kinds from now on; must not be called before the previous change is complete. `decided` is called once the removed
   * watchers have ended, before the store receives the plan: a store that starts from then on must be given this plan. Never rejects.
   */
  async change(next: WatchPlan, decided: () => void): Promise<Reconfiguration> {
    const before = this.#plan
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
    if (this.#system.isStopping) return { ...outcome, isComplete: false }
    this.#plan = next
    decided()
    this.#options.statuses.follow([...next.kinds.keys()], new Set(restarted), this.#options.clock.wallMicros())
    const isTold = isSameExpectation(before, next) || (await this.#tellStore(next.expected))
    if (!isTold || this.#system.isStopping) return { ...outcome, isComplete: false }
    for (const gvk of [...restarted, ...added]) this.#start(next.kinds.get(gvk) as TrackedKind)
    return { ...outcome, removed: await Promise.all(removed.map((kind) => this.#located(kind))), isComplete: true }
  }

  /** Has the watcher of a kind look at once whether it is installed. */
  retry(gvk: string): void {
    const watcher = this.#watchers.get(gvk)?.watcher
    if (watcher !== undefined) void this.#options.run(Effect.ignore(watcher.call("retry", undefined)))
  }

  #makePlacement({ sharing, clock, start, openShared, statuses, canStore, run, notify }: WatchersOptions): Placement {
    return new Placement({
      policy: sharing,
      clock,
      alone: start,
      openShared,
      watchers: () => this.#plan.kinds.size,
      // Most clusters have most of their objects and changes in pods.
      staysAlone: (gvk) => gvk === podKind || gvk === podLivesKind,
      bytesRead: async (gvk) => {
        const watcher = this.#watchers.get(gvk)?.watcher
        return watcher && run(bytesReadBy(watcher))
      },
      mayMove: (gvk) => statuses.stateOf(gvk) === "watching" && canStore() && !this.#system.isStopping,
      move: async (gvk) => {
        if (this.#watchers.has(gvk)) await this.#system.move(watcherName(gvk))
      },
      told: (sentence) => notify({ type: "placement", sentence }),
    })
  }

  /** False if the store stops first: then nothing can be recorded any more. */
  #tellStore(expected: ExpectedKinds): Promise<boolean> {
    const told = Effect.as(patiently(this.#store, this.#store.call("expect", expected)), true)
    return this.#options.run(Effect.orElseSucceed(told, () => false))
  }

  /** Ends a watcher. What it received is committed, as far as the store accepts it in time; returns whether all of it was. */
  async #end(gvk: string): Promise<boolean> {
    const name = watcherName(gvk)
    const isDrained = await this.#system.remove(name)
    // It may still be waiting for the number of its life: assigned after its successor's, it would fence off the successor's frames.
    this.#ends.get(gvk)?.abort()
    this.#ends.delete(gvk)
    this.#watchers.delete(gvk)
    this.placement.forget(gvk)
    this.#shares.release(name)
    return isDrained
  }

  async #located(kind: RemovedKind): Promise<RemovedKind> {
    const complete = await this.#options.run(
      this.#store.call("kindState", kind.gvk).pipe(
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
    const { statuses, clock, notify, ...options } = this.#options
    const gvk = kind.gvkText
    const name = watcherName(gvk)
    const tracksPods = gvk === this.#plan.podStream
    const ended = new AbortController()
    this.#ends.set(gvk, ended)
    const watcher = this.#system.spawn({
      definition: watcherDefinition,
      name,
      start: this.placement.startOf(gvk),
      config: async () => {
        const endpoint = await options.endpoint(name)
        const lists = await options.lists(gvk, endpoint)
        const redaction = kind.redaction && { rules: kind.redaction, key: await options.redactionKey() }
        const limits = this.#shares.take(name, this.#plan.kinds.size)
        const lines = { memory: this.#lines, slot: this.#slotOf(name), limitBytes: largeLinesBytes }
        return {
          ...watcherConfig(kind, tracksPods, endpoint, limits, options, this.#versions),
          lists,
          lines,
          redaction,
          unseenSince: options.unseenSince(gvk),
        }
      },
      incarnation: () => options.nextIncarnation(name, ended.signal),
      restart: options.restart,
      onStateChange: (state, reason) => {
        // Its kind is not watched until the next life reports that it is.
        if (state === "backing-off") {
          const detail = `its watcher stopped and is being restarted: ${reason.split("\n", 1)[0]}`
          statuses.set(gvk, "failing", detail, clock.wallMicros())
        }
        notify({ type: "actor", name, gvk, state, reason })
      },
      onReport: (given) => {
        const report = given.type === "state" ? advised(given) : given
        // A 401 is reported by the watcher; a certificate that is refused in the handshake ends the connection.
        if (report.type === "state" && report.state === "failing" && isRefusedCertificate(report.detail)) {
          statuses.setUnauthorized(gvk)
          options.onUnauthorized()
        }
        if (report.type === "state") statuses.set(gvk, report.state, report.detail, report.atMicros, report.namespaces)
        if (report.type === "cluster") options.onCluster(report.uid)
        if (report.type === "resource") options.onResource(report.resource)
        if (report.type === "definition") return options.onDefinition(report.definition)
        if (report.type === "unauthorized") {
          statuses.setUnauthorized(gvk)
          options.onUnauthorized()
        }
        notify({ type: "kind", gvk, report })
      },
      onGaveUp: (error) => {
        statuses.set(gvk, "stopped", error.message, clock.wallMicros())
        options.onGaveUp(gvk, error)
      },
    })
    this.#watchers.set(gvk, { gvk, watcher })
    this.#system.link(observationsMailbox, watcher, this.#store)
    this.#system.link(storedStateMailbox(name), this.#store, watcher, "upstream")
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

const isSameExpectation = (left: WatchPlan, right: WatchPlan): boolean =>
  JSON.stringify(left.expected) === JSON.stringify(right.expected)

/** The order of ignored fields and of namespaces has no meaning. */
const settingsOf = (kind: TrackedKind) => ({
  detect: kind.detect,
  ignore: kind.ignore.toSorted(),
  keepManagedFields: kind.keepManagedFields,
  skipOwned: kind.skipOwned === "ingest",
  labelSelector: kind.labelSelector,
  fieldSelector: kind.fieldSelector,
  namespaces: kind.namespaces?.toSorted(),
  redaction: kind.redaction,
})

const watcherConfig = (
  kind: TrackedKind,
  tracksPods: boolean,
  endpoint: ApiEndpoint,
  limits: MailboxLimits,
  { userAgent, policy, reportEvents }: Pick<WatchersOptions, "userAgent" | "policy" | "reportEvents">,
  versions: SharedArrayBuffer,
): WatcherConfig => ({
  gvk: kind.gvkText,
  tracksPods,
  endpoint,
  userAgent,
  ...settingsOf(kind),
  redaction: undefined,
  policy,
  reportEvents,
  versions,
  ...limits,
})
