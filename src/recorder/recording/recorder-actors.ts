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
import { ownerResolverName, storeName, watcherName } from "../../actors/names.ts"
import {
  type RetentionSettings,
  type StoreReport,
  type StoreUnavailable,
  storeDefinition,
} from "../../actors/store/definition.ts"
import { systemClock } from "../../clock.ts"
import { CredentialRefresh } from "../../kube/credentials/credential-refresh.ts"
import type { ApiEndpoint } from "../../kube/endpoint.ts"
import { defaultWatchPolicy } from "../../kube/watch/protocol/policy.ts"
import { ActorSystem } from "../../runtime/actor-system.ts"
import { memoryBound } from "../../runtime/container-memory.ts"
import { SharedThread } from "../../runtime/shared-thread.ts"
import { defaultRestartPolicy } from "../../runtime/supervisor.ts"
import { workerThread } from "../../runtime/thread.ts"
import type { DiscoveredKind } from "../../wire/discovered-kind.ts"
import { type TrackedKind, withoutKinds } from "../configuration/tracked-kind.ts"
import type { Reach } from "../export/recording.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import { memoryLimitsOf, type WorkerRole } from "../memory/memory-shares.ts"
import { RedactionKey } from "../redaction/redaction-key.ts"
import { type KindStatus, KindStatuses } from "../status/kind-status.ts"
import {
  decodeRecorderState,
  encodeRecorderState,
  statusRecordedBefore,
  statusRecordedNow,
} from "../status/recorder-state.ts"
import { StoreWatch } from "../store/store-watch.ts"
import { type CredentialTaker, HandedCredentials } from "../watchers/handed-credentials.ts"
import { ListManners } from "../watchers/list-manners.ts"
import { PatientWrites, patiently } from "../watchers/patient-writes.ts"
import { defaultSharing } from "../watchers/placement.ts"
import { type Reconfiguration, Watchers, watchPlan } from "../watchers/spawn-watchers.ts"
import { firstLists } from "./first-lists.ts"
import { OwnerResolution } from "./owner-resolution.ts"
import { currentReach } from "./reach.ts"
import { counter, readingActors } from "./reading-actors.ts"
import { recordStop, recordUnlisted, type UnlistedLife } from "./record-stop.ts"
import type { RecorderActorsOptions } from "./recorder-actors-options.ts"
import { type RecorderClose, type RecorderEnd, RecordingGone } from "./recorder-end.ts"
import { workerEntry } from "./worker-entries.ts"

export type { EndpointSource } from "../../kube/endpoint.ts"
export type { RecorderNotice } from "../notices/recorder-notice.ts"
export type { Reconfiguration, RemovedKind } from "../watchers/spawn-watchers.ts"
export type { RecorderActorsOptions } from "./recorder-actors-options.ts"
export { type RecorderClose, type RecorderEnd, RecordingGone } from "./recorder-end.ts"

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
    let former: ReadonlyArray<TrackedKind> = []
    let statusRecorded = statusRecordedNow(kinds, {}, clock.wallMicros())
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
    const statuses = new KindStatuses(plan.kinds.keys(), clock.wallMicros(), () => {
      keepState()
      noteFirstLists()
    })
    let isRecalled = false
    /** Reads what earlier recorders of the directory knew, which must happen before it is overwritten. */
    const recalled = Effect.suspend(() => {
      if (isRecalled) return Effect.void
      return Effect.map(store.call("recorderState", undefined), (text) => {
        const before = decodeRecorderState(text)
        if (!isRecalled && before !== undefined) {
          statuses.recall(before)
          former = withoutKinds(before.former ?? [], kinds)
          statusRecorded = statusRecordedNow(kinds, statusRecordedBefore(before), clock.wallMicros())
        }
        isRecalled = true
      })
    })
    const keepState = (): void => {
      if (system.isStopping) return
      // Read when the store can take it: by then the state may have changed again.
      const write = Effect.suspend(() => {
        const state = { kinds, former, statusRecorded, statuses: statuses.all(), appeared: statuses.appeared }
        return store.call("setRecorderState", encodeRecorderState(state))
      }).pipe((put) => Effect.andThen(recalled, put))
      writes.put("what is being recorded", patiently(store, write))
    }
    let hasFirstLists = false
    /** What is listed from then on was added later, and does not belong to the beginning of the recording. */
    const noteFirstLists = (): void => {
      if (system.isStopping || hasFirstLists || !statuses.areFirstListsOver) return
      hasFirstLists = true
      const note = store.call("firstLists", clock.wallMicros())
      writes.put("when the first lists were complete", patiently(store, note))
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
        ...(options.lease !== undefined && { lease: options.lease }),
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
            hasFirstLists = false
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

    const handed = new HandedCredentials(run)
    const credentials = new CredentialRefresh(options.endpoints, {
      had: (endpoint) => {
        const { resolver } = resolution
        const takers: CredentialTaker[] = watchers.all.map(({ watcher }) => ({
          name: watcher.name,
          take: (given) => watcher.call("credentials", given),
        }))
        if (resolver !== undefined)
          takers.push({ name: resolver.name, take: (given) => resolver.call("credentials", given) })
        handed.handOver(endpoint, takers)
      },
      trouble: (trouble) => options.notify({ type: "credentials", trouble }),
    })
    const endpointFor = (name: string): Promise<ApiEndpoint> => handed.forLife(name, credentials)
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
      openShared: (shared) =>
        new SharedThread(entry("watcher"), () => memoryLimitsOf(memory, plan.kinds.size).watcher, shared),
      sharing: options.sharing ?? defaultSharing,
      canStore: () => storeWatch.trouble === undefined && reportedTrouble === undefined,
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
      onDefinition: (definition) => options.onDefinition?.(definition),
      unseenSince: (gvk) => options.unseenSince?.(gvk),
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
    yield* Effect.acquireRelease(
      Effect.sync(() => watchers.placement.watch()),
      () => Effect.sync(() => watchers.placement.stop()),
    )
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

    const reconfigure = (wanted: ReadonlyArray<TrackedKind>, ended: ReadonlySet<string>): Promise<Reconfiguration> => {
      const next = watchPlan(wanted)
      return watchers.change(next, () => {
        former = withoutKinds([...former, ...kinds.filter(({ gvkText }) => ended.has(gvkText))], wanted)
        kinds = wanted
        statusRecorded = statusRecordedNow(kinds, statusRecorded, clock.wallMicros())
        plan = next
        run(resolution.recordKinds(next.expected.recordedKinds))
      })
    }
    let lastChange: Promise<unknown> = Promise.resolve()
    /** Commits what was received; returns the sequence number up to which an export is complete. */
    const cut = (): Effect.Effect<number, StoreUnavailable | { readonly message: string }> =>
      storeWatch.trouble === undefined ? store.call("cut", undefined) : Effect.fail({ message: storeWatch.trouble })
    return {
      statuses,
      /**
       * The kinds recorded now. Exports must use this list: it changes together with `statuses`, so that a kind that was just added is
       * never exported without its state.
       */
      get kinds(): ReadonlyArray<TrackedKind> {
        return kinds
      },
      /** Kinds that were recorded until the server had them no longer; exports contain them. */
      get former(): ReadonlyArray<TrackedKind> {
        return former
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
       * for first lists (`statuses`); waits for a running change first. Never rejects. `ended`: kinds that the server has no longer, which become {@link former}.
       */
      reconfigure: (
        wanted: ReadonlyArray<TrackedKind>,
        ended: ReadonlySet<string> = new Set(),
      ): Promise<Reconfiguration> => {
        const change = lastChange.then(
          () => reconfigure(wanted, ended),
          () => reconfigure(wanted, ended),
        )
        lastChange = change
        return change
      },
      /** Has a kind looked for at once that is not installed. */
      retry: (gvk: string): void => watchers.retry(gvk),
      /** A kind was installed and is gone. If its objects were not listed meanwhile, that is a gap. */
      noteGone: (life: UnlistedLife): void => {
        if (!system.isStopping)
          writes.put(`whether ${life.gvk} could be listed before it was gone`, recordUnlisted(store, life))
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
      reach: (): Effect.Effect<Reach, ExportRefusal> => currentReach({ store, reader, clock, cut }),
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
