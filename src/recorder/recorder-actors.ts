/**
 * The actors of a recorder, put together: one store, one exporter, a watcher per kind, perhaps one for the lives of pods, an owner-resolver when
 * one is needed, and what goes between them.
 *
 * What is recorded can be changed while it is recorded (`reconfigure`): only what the change concerns is touched.
 *
 * One scope holds all of it. Closing the scope stops the watchers first, then drains and closes the store. Only the failure of the
 * store ends the recording (`ended`); a kind whose watcher keeps crashing is stopped with a gap, and the others go on. An
 * exporter, or a reader, that keeps crashing is started again for ever: that harms only those who ask it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Schema from "effect/Schema"
import { exporterDefinition } from "../actors/exporter/definition.ts"
import { exporterName, ownerResolverName, readerName, storeName, watcherName } from "../actors/names.ts"
import { readerDefinition } from "../actors/reader/definition.ts"
import { type StoreReport, type StoreUnavailable, storeDefinition } from "../actors/store/definition.ts"
import { type Clock, systemClock } from "../clock.ts"
import type { ApiEndpoint, EndpointSource } from "../kube/endpoint.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/protocol/policy.ts"
import { ActorSystem } from "../runtime/actor-system.ts"
import type { ActorGaveUp, CallError } from "../runtime/errors.ts"
import { defaultRestartPolicy, type RestartPolicy } from "../runtime/supervisor.ts"
import { type MemoryBound, memoryBound } from "../runtime/thread/container-memory.ts"
import { workerThread } from "../runtime/thread/thread.ts"
import type { TrackedKind } from "./configuration/tracked-kind.ts"
import { CredentialRefresh } from "./credential-refresh.ts"
import { ExportService } from "./export/service.ts"
import { KindStatuses } from "./kind-status.ts"
import { memoryLimitsOf } from "./memory/memory-shares.ts"
import type { RecorderNotice } from "./notices/recorder-notice.ts"
import { OwnerResolution } from "./owner-resolution.ts"
import { PatientWrites, patiently } from "./patient-writes.ts"
import { makeReaderService } from "./reader-service.ts"
import { recordStop } from "./record-stop.ts"
import { type Reconfiguration, Watchers, watchPlan } from "./spawn-watchers.ts"
import { type WorkerRole, workerEntry } from "./worker-entries.ts"

export type { EndpointSource } from "../kube/endpoint.ts"
export type { RecorderNotice } from "./notices/recorder-notice.ts"
export type { Reconfiguration, RemovedKind } from "./spawn-watchers.ts"

export interface RecorderActorsOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  readonly directory: string
  readonly fsync: "interval" | "always"
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly notify: (notice: RecorderNotice) => void
  /** Report each recorded event, for the debug log. Default off. */
  readonly reportEvents?: boolean
  readonly policy?: WatchPolicy
  /** How often actors may crash. Default: 5 times in 10 min. */
  readonly restart?: RestartPolicy
  readonly clock?: Clock
  /** What all threads may take together. Default: what the container, or the machine, allows. */
  readonly memory?: MemoryBound
  /** Where a role's worker code is. Default: the bundles of this package. */
  readonly entry?: (role: WorkerRole) => URL
}

/** The files of the recording were removed or moved away while it was being written. */
export class RecordingGone extends Schema.TaggedError<RecordingGone>()("RecordingGone", {
  message: Schema.String,
}) {}

/** The store could not be opened or kept: nothing can be recorded. */
export type RecorderEnd = ActorGaveUp | RecordingGone

/** How a recording was closed. */
export interface RecorderClose {
  /** Events committed in the store's last life; `undefined` if it did not close in order. */
  readonly events: number | undefined
  /** Kinds of which the last events received could not be written. The server may still have them. */
  readonly unwritten: ReadonlyArray<string>
}

/** The actors at work. */
export type RecorderActors = Effect.Success<ReturnType<typeof startRecorderActors>>

/** Starts everything; answers once the store is open. Watchers go on starting; ask `statuses`. */
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
    // Before the system, so that it outlives it: what a stopping actor still waits for is settled by the store, not cut off.
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
    const statuses = new KindStatuses(plan.kinds.keys(), clock.wallMicros())
    const onStateChange = (name: string) => (state: string, reason: string) =>
      options.notify({ type: "actor", name, state, reason })
    const storeTrouble = (trouble: string | undefined): void => {
      statuses.setStoreTrouble(trouble)
      options.notify({ type: "store", trouble })
    }
    const memory = options.memory ?? memoryBound()
    const worker = (role: WorkerRole) => workerThread(entry(role), () => memoryLimitsOf(memory, plan.kinds.size)[role])

    // The store may tell of owners before there is anything to ask them with.
    let areOwnersNamed = false
    let owners: OwnerResolution | undefined
    const store = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: worker("store"),
      config: () => ({
        directory: options.directory,
        fsync: options.fsync,
        asksOwners: true,
        ...plan.expected,
      }),
      incarnation: counter(),
      restart,
      onStateChange: (state, reason) => {
        onStateChange(storeName)(state, reason)
        // It could open the recording. What its former life could not write is its own to find out.
        if (state === "running" && statuses.storeTrouble !== undefined) storeTrouble(undefined)
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
    yield* Effect.raceFirst(store.running(), Deferred.await(ended))

    const spawnExporter = () =>
      system.spawn({
        definition: exporterDefinition,
        name: exporterName,
        start: worker("exporter"),
        config: () => ({ directory: options.directory }),
        incarnation: counter(),
        restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
        onStateChange: onStateChange(exporterName),
      })
    const exports = new ExportService(system, spawnExporter)

    const readerIncarnation = counter()
    const spawnReader = () =>
      system.spawn({
        definition: readerDefinition,
        name: readerName,
        start: worker("reader"),
        config: () => ({ directory: options.directory }),
        incarnation: readerIncarnation,
        restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
        onStateChange: onStateChange(readerName),
      })
    const reader = yield* makeReaderService(system, spawnReader, clock)

    /** A store that is starting or whose disk is full is waited for: that must not look like a watcher that crashes. */
    const nextIncarnation = (name: string) => patiently(store, store.call("nextIncarnation", name))

    /** What each of those that talk to the API server uses: one that was starting when fresh credentials came gets them when it next meets a 401. */
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
      writes.put("the identity of the cluster", patiently(store, store.call("setClusterUid", uid)))
    }
    const watchers = new Watchers(system, store, plan, {
      userAgent: options.userAgent,
      policy: options.policy ?? defaultWatchPolicy,
      reportEvents: options.reportEvents ?? false,
      notify: options.notify,
      start: worker("watcher"),
      endpoint: endpointFor,
      run: runPromise,
      nextIncarnation: (name, signal) => runPromise(nextIncarnation(name), { signal }),
      restart,
      statuses,
      clock,
      onCluster: keepClusterUid,
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
    /** It counts as a crash of the sender: one whose lives all send such frames is given up, and nothing else is. */
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

    return {
      statuses,
      /**
       * What is recorded now, as configured. An export is to go by this: it changes at one moment with `statuses`, so that a kind
       * that was only just added is never exported without its state.
       */
      get kinds(): ReadonlyArray<TrackedKind> {
        return kinds
      },
      /** Those there are now, in the order of the configuration. */
      get watchers() {
        return watchers.all
      },
      /** The kind whose watcher follows the lives of pods; `undefined` if no kind asks for it. */
      get podStream() {
        return plan.podStream
      },
      /**
       * Records these kinds from here on: starts watchers of those that are new, ends those of the ones that are not named any more,
       * and starts those again whose settings changed in what is asked for or counts. All others keep their streams. Answers when
       * that is done, which does not wait for first lists (`statuses`); waits for a change that is under way. Never rejects.
       */
      reconfigure: (wanted: ReadonlyArray<TrackedKind>): Promise<Reconfiguration> => {
        const change = lastChange.then(
          () => reconfigure(wanted),
          () => reconfigure(wanted),
        )
        lastChange = change
        return change
      },
      store,
      owners: resolution,
      system,
      exports,
      /** Answers questions about the recording. */
      reader,
      /** Fails when the recording cannot go on. */
      ended: Deferred.await(ended),
      /** How it ended; `undefined` until the scope is closed. */
      closed: (): RecorderClose | undefined => closed,
      /** Remembers which cluster is recorded, as soon as the store can, unless a watcher has said so: it asked later. */
      suggestClusterUid: (uid: string): void => {
        if (!clusterHeard) keepClusterUid(uid)
      },
      /** Hands every watcher the credentials as they are now, if they are new. Answers whether they could be had. */
      renewCredentials: () => credentials.renew(),
      /** Commits what was received; answers the sequence number that an export may count on. */
      cut: (): Effect.Effect<number, StoreUnavailable | { readonly message: string }> => store.call("cut", undefined),
    }
  })

/** Lives of actors whose frames do not outlive the process are numbered from 1. */
const counter = (): (() => number) => {
  let last = 0
  return () => ++last
}
