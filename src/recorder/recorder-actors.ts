/**
 * The actors of a recorder and their connections: one store, one exporter, a watcher per kind, possibly one for pod lifecycles, and an
 * owner-resolver and a reader on demand.
 *
 * The kinds can be changed while recording (`reconfigure`): only the watchers that a change concerns are touched.
 *
 * One scope owns everything. Closing it stops the watchers first, then drains and closes the store. Only a failure of the store ends the
 * recording (`ended`); a kind whose watcher keeps crashing is stopped with a gap, and the others continue. An exporter or a reader that
 * keeps crashing is restarted for ever, because only its own clients are affected.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Schema from "effect/Schema"
import { ownerResolverName, storeName, watcherName } from "../actors/names.ts"
import {
  type RetentionSettings,
  type StoreReport,
  type StoreUnavailable,
  storeDefinition,
} from "../actors/store/definition.ts"
import { type Clock, systemClock } from "../clock.ts"
import { CredentialRefresh } from "../kube/credentials/credential-refresh.ts"
import type { ApiEndpoint, EndpointSource } from "../kube/endpoint.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/protocol/policy.ts"
import { ActorSystem } from "../runtime/actor-system.ts"
import type { ActorGaveUp, CallError } from "../runtime/errors.ts"
import { defaultRestartPolicy, type RestartPolicy } from "../runtime/supervisor.ts"
import { type MemoryBound, memoryBound } from "../runtime/thread/container-memory.ts"
import { workerThread } from "../runtime/thread/thread.ts"
import type { DiscoveredKind } from "../wire/discovered-kind.ts"
import type { TrackedKind } from "./configuration/tracked-kind.ts"
import type { ExportRefusal } from "./export/request.ts"
import { type KindStatus, KindStatuses } from "./kind-status.ts"
import { memoryLimitsOf } from "./memory/memory-shares.ts"
import type { RecorderNotice } from "./notices/recorder-notice.ts"
import { OwnerResolution } from "./owner-resolution.ts"
import { PatientWrites, patiently } from "./patient-writes.ts"
import { recordStop } from "./record-stop.ts"
import { firstLists } from "./recording/first-lists.ts"
import { counter, readingActors } from "./recording/reading-actors.ts"
import { decodeRecorderState, encodeRecorderState } from "./recording/recorder-state.ts"
import type { Reach } from "./recording/recording.ts"
import { RedactionKey } from "./redaction/redaction-key.ts"
import { StoreWatch } from "./store/store-watch.ts"
import { type ListCompression, ListManners } from "./watchers/list-manners.ts"
import { type Reconfiguration, Watchers, watchPlan } from "./watchers/spawn-watchers.ts"
import { type WorkerRole, workerEntry } from "./worker-entries.ts"

export type { EndpointSource } from "../kube/endpoint.ts"
export type { RecorderNotice } from "./notices/recorder-notice.ts"
export type { Reconfiguration, RemovedKind } from "./watchers/spawn-watchers.ts"

export interface RecorderActorsOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  readonly directory: string
  readonly fsync: "interval" | "always"
  /** How much is kept. Default: everything. */
  readonly retention?: RetentionSettings
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly notify: (notice: RecorderNotice) => void
  /** Look up owners that are not recorded. Default true. */
  readonly looksUpOwners?: boolean
  /** Report each recorded event, for the debug log. Default off. */
  readonly reportEvents?: boolean
  /** File with the key for redacted values. Default: one in the directory, which is made if a kind has redacted values. */
  readonly redactKeyFile?: string
  readonly policy?: WatchPolicy
  /** Default `auto`. */
  readonly listCompression?: ListCompression
  /** How often actors may crash. Default: 5 times in 10 min. */
  readonly restart?: RestartPolicy
  readonly clock?: Clock
  /** Memory of all threads together. Default: the limit of the container, or of the machine. */
  readonly memory?: MemoryBound
  /** File of a role's worker code. Default: the bundles of this package. */
  readonly entry?: (role: WorkerRole) => URL
}

/** The files of the recording were removed or moved while it was being written. */
export class RecordingGone extends Schema.TaggedError<RecordingGone>()("RecordingGone", {
  message: Schema.String,
}) {}

/** The store could not be opened or keeps failing: nothing can be recorded. */
export type RecorderEnd = ActorGaveUp | RecordingGone

/** How a recording was closed. */
export interface RecorderClose {
  /** Events committed in the store's last life; `undefined` if it was not closed in order. */
  readonly events: number | undefined
  /** Kinds whose last received events could not be written. The server may still have them. */
  readonly unwritten: ReadonlyArray<string>
}

/** ms that a store may take to answer whether it can be asked at all. */
const silentStoreMs = 1000

/** The running actors. */
export type RecorderActors = Effect.Success<ReturnType<typeof startRecorderActors>>

/**
 * Starts all actors; returns once the store is open, or waits for room or for a writable disk over an existing recording. Watchers continue
 * starting; see `statuses`.
 */
export const startRecorderActors = (options: RecorderActorsOptions) =>
  Effect.gen(function* () {
    const clock = options.clock ?? systemClock
    const entry = options.entry ?? workerEntry
    const restart = options.restart ?? defaultRestartPolicy
    const ended = yield* Deferred.make<never, RecorderEnd>()
    let kinds = options.kinds
    let plan = watchPlan(kinds)
    let closed: RecorderClose | undefined
    let closedEvents: number | undefined
    // Acquired before the actor system, so that it outlives it: writes that a stopping actor still waits for are settled by the store and
    // not cut off.
    const fibers = yield* FiberSet.make<unknown, unknown>()
    const run = yield* FiberSet.runtime(fibers)()
    const runPromise = yield* FiberSet.runtimePromise(fibers)()
    const writes = new PatientWrites(run)
    const system = yield* Effect.acquireRelease(
      Effect.sync(() => new ActorSystem({ clock })),
      (stopping) =>
        Effect.promise(async () => {
          const undrained = new Set(await stopping.stop())
          const unwritten = [...plan.kinds.keys()].filter((gvk) => undrained.has(watcherName(gvk)))
          closed = { events: closedEvents, unwritten }
          for (const what of writes.close()) options.notify({ type: "unwritten", what })
        }),
    )
    const statuses = new KindStatuses(plan.kinds.keys(), clock.wallMicros(), () => keepState())
    let isRecalled = false
    /** Reads what earlier recorders of the directory knew, which must happen before it is overwritten. */
    const recalled = Effect.suspend(() => {
      if (isRecalled) return Effect.void
      return Effect.map(store.call("recorderState", undefined), (text) => {
        const before = decodeRecorderState(text)
        if (!isRecalled && before !== undefined) statuses.recall(before)
        isRecalled = true
      })
    })
    const keepState = (): void => {
      if (system.isStopping) return
      // Read when the store can take it: by then the state may have changed again.
      const write = Effect.suspend(() => {
        const state = { kinds, statuses: statuses.all(), appeared: statuses.appeared }
        return store.call("setRecorderState", encodeRecorderState(state))
      }).pipe((put) => Effect.andThen(recalled, put))
      writes.put("what is being recorded", patiently(store, write))
    }
    const discovered = new Map<string, DiscoveredKind>()
    const keepDiscovered = (kind: DiscoveredKind): void => {
      if (!system.isStopping)
        writes.put(`what discovery says of ${kind.gvk}`, patiently(store, store.call("learnKind", kind)))
    }
    const onStateChange = (name: string) => (state: string, reason: string) =>
      options.notify({ type: "actor", name, state, reason })
    const waiting = yield* Deferred.make<void>()
    /** What the store reports itself. */
    let reportedTrouble: string | undefined
    const tellTrouble = (): void => {
      const trouble = reportedTrouble ?? storeWatch.trouble
      statuses.setStoreTrouble(trouble)
      options.notify({ type: "store", trouble, isCertain: reportedTrouble !== undefined })
    }
    const storeTrouble = (trouble: string | undefined): void => {
      // It can be asked for what is recorded, although nothing can be added.
      if (trouble !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
      reportedTrouble = trouble
      tellTrouble()
    }
    const storeWatch = new StoreWatch({
      clock,
      ask: () => runPromise(Effect.orElseSucceed(store.call("statistics", undefined), () => undefined)),
      onChange: tellTrouble,
    })
    const memory = options.memory ?? memoryBound()
    const worker = (role: WorkerRole) => workerThread(entry(role), () => memoryLimitsOf(memory, plan.kinds.size)[role])

    /** UID of the recorded cluster, as far as this process was told. */
    let keptCluster: string | undefined
    /** Senders know of frames as acknowledged that are lost. They start again from what is recorded. Before there are any there is nothing to do. */
    let restartSenders = (_reason: string): void => undefined
    // The store may report owners before the resolver exists.
    let areOwnersNamed = false
    let owners: OwnerResolution | undefined
    let { retention } = options
    const store = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: worker("store"),
      config: () => ({
        directory: options.directory,
        fsync: options.fsync,
        asksOwners: options.looksUpOwners ?? true,
        ...(retention !== undefined && { retention }),
        ...plan.expected,
      }),
      incarnation: counter(),
      restart,
      onStateChange: (state, reason) => {
        onStateChange(storeName)(state, reason)
        if (state !== "running") return
        storeWatch.began()
        // The store could open the recording. What its previous life could not write, it will find out itself.
        if (reportedTrouble !== undefined) storeTrouble(undefined)
      },
      onReport: (report) => {
        switch (report.type) {
          case "closed":
            closedEvents = report.events
            return
          case "gone":
            Deferred.doneUnsafe(ended, Effect.fail(new RecordingGone({ message: report.message })))
            return
          case "refused":
            return refused(report)
          case "distrusted":
            options.notify({ type: "distrusted", reason: report.message })
            return restartSenders(report.message)
          case "set-aside":
            statuses.addSetAside(report.path)
            options.notify(report)
            // The new recording takes nothing from lives that began before it.
            restartSenders(`the recording was damaged: ${report.reason}`)
            // The new recording has none of what was stored in the old one.
            keepState()
            for (const kind of discovered.values()) keepDiscovered(kind)
            return keptCluster === undefined ? undefined : keepClusterUid(keptCluster)
          case "retention":
            return options.notify(report)
          case "exposed":
            return options.notify({ type: "exposed", message: report.message })
          case "owners-named":
            areOwnersNamed = true
            if (!system.isStopping) owners?.needed()
            return
          case "commit-failed":
            return storeTrouble(report.message)
          case "commit-recovered":
            return storeTrouble(undefined)
        }
      },
      onGaveUp: (error) => Deferred.doneUnsafe(ended, Effect.fail(error)),
    })
    const isReadable = Effect.raceFirst(patiently(store, recalled), Deferred.await(waiting))
    yield* Effect.raceFirst(isReadable, Deferred.await(ended))
    yield* Effect.acquireRelease(
      Effect.sync(() => storeWatch.start()),
      () => Effect.sync(() => storeWatch.stop()),
    )
    keepState()
    const { exports, reader } = yield* readingActors(system, {
      config: { directory: options.directory },
      worker,
      restart,
      onStateChange,
      clock,
    })

    /** Waits for a store that is starting or whose disk is full: that must not look like a watcher that crashes. */
    const nextIncarnation = (name: string) => patiently(store, store.call("nextIncarnation", name))

    /** The endpoint that each actor uses. An actor that was starting when the credentials changed gets them after its next 401. */
    const handed = new Map<string, ApiEndpoint>()
    const credentials = new CredentialRefresh(options.endpoints, {
      had: (endpoint) => {
        const handOver = (name: string, call: Effect.Effect<void, CallError>): void => {
          if (handed.get(name) === endpoint) return
          run(Effect.ignore(call.pipe(Effect.map(() => handed.set(name, endpoint)))))
        }
        for (const { watcher } of watchers.all) handOver(watcher.name, watcher.call("credentials", endpoint))
        const { resolver } = resolution
        if (resolver !== undefined) handOver(resolver.name, resolver.call("credentials", endpoint))
      },
      trouble: (trouble) => options.notify({ type: "credentials", trouble }),
    })
    const endpointFor = async (name: string): Promise<ApiEndpoint> => {
      const endpoint = await credentials.current()
      handed.set(name, endpoint)
      return endpoint
    }
    let clusterHeard = false
    const keepClusterUid = (uid: string): void => {
      clusterHeard = true
      keptCluster = uid
      writes.put("the identity of the cluster", patiently(store, store.call("setClusterUid", uid)))
    }
    const manners = new ListManners({
      compression: options.listCompression ?? "auto",
      userAgent: options.userAgent,
      timers: clock,
    })
    const redactionKey = new RedactionKey(
      { file: options.redactKeyFile, directory: options.directory },
      options.notify,
      runPromise,
    )
    const watchers = new Watchers(system, store, plan, {
      userAgent: options.userAgent,
      policy: options.policy ?? defaultWatchPolicy,
      reportEvents: options.reportEvents ?? false,
      notify: options.notify,
      start: worker("watcher"),
      endpoint: endpointFor,
      lists: (gvk, endpoint) => manners.of(gvk, endpoint),
      redactionKey: () => redactionKey.get(),
      run: runPromise,
      nextIncarnation: (name, signal) => runPromise(nextIncarnation(name), { signal }),
      restart,
      statuses,
      clock,
      onCluster: keepClusterUid,
      onResource: (kind) => {
        discovered.set(kind.gvk, kind)
        keepDiscovered(kind)
      },
      onUnauthorized: () => credentials.refresh(),
      onGaveUp: (gvk, error) => {
        options.notify({ type: "stopped-kind", gvk, error })
        const stop = { gvk, detail: error.message, atMicros: clock.wallMicros() }
        writes.put(`the gap from the point at which recording ${gvk} stopped`, recordStop(store, stop))
      },
    })
    const resolution = new OwnerResolution(system, store, {
      start: worker("owner-resolver"),
      endpoint: () => endpointFor(ownerResolverName),
      directory: options.directory,
      userAgent: options.userAgent,
      recordedKinds: plan.expected.recordedKinds,
      nextIncarnation: (name) => runPromise(nextIncarnation(name)),
      restart,
      onStateChange: onStateChange(ownerResolverName),
      onReport: (report) => {
        if (report.type === "unauthorized") credentials.refresh()
        else options.notify({ type: "owners", trouble: report.detail })
      },
    })
    owners = resolution
    if (areOwnersNamed) resolution.needed()
    restartSenders = (reason) => {
      for (const { watcher } of watchers.all)
        void watcher.kill(`the recording has to be continued from an earlier state: ${reason}`)
      void resolution.resolver?.kill(reason)
    }
    /** A rejected message counts as a crash of its sender, so that one that always sends such messages is stopped and nothing else is. */
    const refused = ({ sender, incarnation, message }: Extract<StoreReport, { type: "refused" }>): void => {
      const actor = [resolution.resolver, ...watchers.all.map(({ watcher }) => watcher)].find(
        (each) => each?.name === sender,
      )
      options.notify({ type: "refused", name: sender, reason: message })
      if (actor?.incarnation === incarnation) void actor.kill(`the store rejected its data: ${message}`)
    }

    const reconfigure = (wanted: ReadonlyArray<TrackedKind>): Promise<Reconfiguration> => {
      const next = watchPlan(wanted)
      return watchers.change(next, () => {
        kinds = wanted
        plan = next
        run(resolution.recordKinds(next.expected.recordedKinds))
      })
    }
    let lastChange: Promise<unknown> = Promise.resolve()
    /** Commits what was received; returns the sequence number up to which an export is complete. */
    const cut = (): Effect.Effect<number, StoreUnavailable | { readonly message: string }> =>
      storeWatch.trouble === undefined ? store.call("cut", undefined) : Effect.fail({ message: storeWatch.trouble })
    /** Of a store that cannot write: what was received since waits in memory. */
    const committed = Effect.suspend(() => {
      const asked = clock.wallMicros()
      return store
        .call("statistics", undefined, silentStoreMs)
        .pipe(
          Effect.map(({ sequence, lagMs }): Reach => ({ cut: sequence, knownUntil: Math.floor(asked - lagMs * 1000) })),
        )
    })
    /** Of a store that cannot be asked: it waits for its directory, is being restarted, or hangs. */
    const committedInFiles = Effect.gen(function* () {
      const { cut } = yield* reader.ask("coverage", { fromTime: 0, untilTime: 0 })
      const rows = yield* reader.ask("recordedSince", undefined)
      return { cut, knownUntil: Math.max(0, ...rows.map(({ completeTime }) => completeTime + 1)) } satisfies Reach
    })

    return {
      statuses,
      /**
       * The kinds recorded now. Exports must use this list: it changes together with `statuses`, so that a kind that was just added is
       * never exported without its state.
       */
      get kinds(): ReadonlyArray<TrackedKind> {
        return kinds
      },
      /** The current watchers, in the order of the configuration. */
      get watchers() {
        return watchers.all
      },
      /** The kind whose watcher follows pod lifecycles; `undefined` if no kind tracks them. */
      get podStream() {
        return plan.podStream
      },
      /**
       * Records these kinds from now on: starts watchers for new kinds, ends those of removed kinds, and restarts those whose settings
       * changed what is requested or what counts as an event. All others keep their streams. Resolves when that is done, without waiting
       * for first lists (`statuses`); waits for a running change first. Never rejects.
       */
      reconfigure: (wanted: ReadonlyArray<TrackedKind>): Promise<Reconfiguration> => {
        const change = lastChange.then(
          () => reconfigure(wanted),
          () => reconfigure(wanted),
        )
        lastChange = change
        return change
      },
      /** How much is kept from now on. */
      setRetention: (settings: RetentionSettings): void => {
        retention = settings
        run(Effect.ignore(store.call("setRetention", settings)))
      },
      store,
      owners: resolution,
      system,
      exports,
      /** Runs queries about the recording. */
      reader,
      firstLists: (given: ReadonlyArray<KindStatus>) => firstLists(store, reader, given),
      isOver: false,
      reach: (): Effect.Effect<Reach, ExportRefusal> =>
        cut().pipe(
          Effect.map((sequence): Reach => ({ cut: sequence, knownUntil: undefined })),
          Effect.catch(() => committed),
          Effect.catch(() => committedInFiles),
        ),
      /** Fails when the recording cannot continue. */
      ended: Deferred.await(ended),
      /** How the recording was closed; `undefined` until the scope is closed. */
      closed: (): RecorderClose | undefined => closed,
      /** Stores which cluster is recorded as soon as possible, unless a watcher has reported it: its answer is more recent. */
      suggestClusterUid: (uid: string): void => {
        if (!clusterHeard) keepClusterUid(uid)
      },
      /** Passes the current credentials to every watcher, if they are new. Returns whether they could be obtained. */
      renewCredentials: () => credentials.renew(),
      cut,
      /** The store as seen from this thread. */
      storeWatch,
    }
  })
