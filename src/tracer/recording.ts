/**
 * Puts the actors together: one store, one exporter, one owner-resolver, a watcher per kind, perhaps one for the lives of
 * pods, and what goes between them.
 *
 * One scope holds all of it. Closing the scope stops the watchers first, then drains and closes the store. Only the failure of the
 * store ends the recording (`ended`); a kind whose watcher keeps crashing is stopped with a gap, and the others go on. An
 * exporter that keeps crashing is started again for ever: it harms nobody but who asks it.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type ExportJob, exporterDefinition } from "../actors/exporter/definition.ts"
import {
  exporterName,
  observationsMailbox,
  ownerResolverName,
  storedStateMailbox,
  storeName,
  watcherName,
} from "../actors/names.ts"
import { type StoreUnavailable, storeDefinition } from "../actors/store/definition.ts"
import { type WatcherConfig, type WatcherReport, watcherDefinition } from "../actors/watcher/definition.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/policy.ts"
import { ActorSystem } from "../runtime/actor-system.ts"
import { type Clock, systemClock } from "../runtime/clock.ts"
import type { ActorGaveUp, CallError } from "../runtime/errors.ts"
import { defaultRestartPolicy, type RestartPolicy } from "../runtime/supervisor.ts"
import { workerThread } from "../runtime/thread.ts"
import { recordedWhole, type TrackedKind } from "./configuration/tracked-kind.ts"
import { CredentialRefresh, type EndpointSource } from "./credential-refresh.ts"
import { ExportService } from "./export-service.ts"
import { KindStatuses } from "./kind-status.ts"
import { spawnOwnerResolver } from "./owner-resolution.ts"
import { watchedKinds } from "./pod-stream.ts"
import { withAdvice } from "./trouble-advice.ts"
import { memoryLimits, type WorkerRole, workerEntry } from "./worker-entries.ts"

export type { EndpointSource } from "./credential-refresh.ts"

/** What the recording tells whoever runs it, for logs. All rare, but for `event`. */
export type RecordingNotice =
  | { readonly type: "kind"; readonly gvk: string; readonly report: WatcherReport }
  /** `gvk`: the kind that it watches. */
  | {
      readonly type: "actor"
      readonly name: string
      readonly gvk?: string
      readonly state: string
      readonly reason: string
    }
  /** `trouble`: why the recording cannot be written, or fresh credentials not be had, now; `undefined` when they can. */
  | { readonly type: "store"; readonly trouble: string | undefined }
  | { readonly type: "credentials"; readonly trouble: string | undefined }
  /** Owners of a kind cannot be asked for; told once per kind and reason. */
  | { readonly type: "owners"; readonly trouble: string }
  | { readonly type: "stopped-kind"; readonly gvk: string; readonly error: ActorGaveUp }

export interface RecordingOptions {
  readonly kinds: ReadonlyArray<TrackedKind>
  readonly directory: string
  readonly fsync: "interval" | "always"
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly notify: (notice: RecordingNotice) => void
  /** Report each recorded event, for the debug log. Default off. */
  readonly reportEvents?: boolean
  readonly policy?: WatchPolicy
  /** How often actors may crash. Default: 5 times in 10 min. */
  readonly restart?: RestartPolicy
  readonly clock?: Clock
  /** Where a role's worker code is. Default: the bundles of this package. */
  readonly entry?: (role: WorkerRole) => URL
}

/** The files of the recording were removed or moved away while it was being written. */
export class RecordingGone extends Schema.TaggedError<RecordingGone>()("RecordingGone", {
  message: Schema.String,
}) {}

/** The store could not be opened or kept: nothing can be recorded. */
export type RecordingEnd = ActorGaveUp | RecordingGone

/** How a recording was closed. */
export interface RecordingClose {
  /** Events committed in the store's last life; `undefined` if it did not close in order. */
  readonly events: number | undefined
  /** Kinds of which the last events received could not be written. The server may still have them. */
  readonly unwritten: ReadonlyArray<string>
}

/** ms between tries to reach a store that starts, or that cannot write. */
const storeRetryMs = 500

/** A running recording. */
export type Recording = Effect.Success<ReturnType<typeof startRecording>>

/** Starts everything; answers once the store is open. Watchers go on starting; ask `statuses`. */
export const startRecording = (options: RecordingOptions) =>
  Effect.gen(function* () {
    const clock = options.clock ?? systemClock
    const entry = options.entry ?? workerEntry
    const restart = options.restart ?? defaultRestartPolicy
    const ended = yield* Deferred.make<never, RecordingEnd>()
    const { kinds, podStream } = watchedKinds(options.kinds)
    let closed: RecordingClose | undefined
    let closedEvents: number | undefined
    const system = yield* Effect.acquireRelease(
      Effect.sync(() => new ActorSystem({ clock })),
      (stopping) =>
        Effect.promise(async () => {
          const undrained = new Set(await stopping.stop())
          const unwritten = kinds.map(({ gvkText }) => gvkText).filter((gvk) => undrained.has(watcherName(gvk)))
          closed = { events: closedEvents, unwritten }
        }),
    )
    const statuses = new KindStatuses(
      kinds.map((kind) => kind.gvkText),
      clock.wallMicros(),
    )
    const onStateChange = (name: string) => (state: string, reason: string) =>
      options.notify({ type: "actor", name, state, reason })
    const storeTrouble = (trouble: string | undefined): void => {
      statuses.setStoreTrouble(trouble)
      options.notify({ type: "store", trouble })
    }
    const worker = (role: WorkerRole) => workerThread(entry(role), memoryLimits[role])

    const store = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: worker("store"),
      config: () => ({
        directory: options.directory,
        fsync: options.fsync,
        watchers: kinds.map(({ gvkText }) => ({
          name: watcherName(gvkText),
          gvk: gvkText,
          tracksPods: gvkText === podStream,
        })),
        asksOwners: true,
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
          case "commit-failed":
            return storeTrouble(report.message)
          case "commit-recovered":
            return storeTrouble(undefined)
        }
      },
      onGaveUp: (error) => Deferred.doneUnsafe(ended, Effect.fail(error)),
    })
    yield* Effect.raceFirst(store.running(), Deferred.await(ended))

    let exportService: ExportService | undefined
    const exporter = system.spawn({
      definition: exporterDefinition,
      name: exporterName,
      start: worker("exporter"),
      config: () => ({ directory: options.directory }),
      incarnation: counter(),
      restart: { ...restart, maximumCrashes: Number.POSITIVE_INFINITY },
      onStateChange: (state, reason) => {
        onStateChange(exporterName)(state, reason)
        if (state === "backing-off") exportService?.exporterGone(reason)
      },
    })
    exportService = new ExportService(system, exporter, clock)

    /** A store that is starting or whose disk is full is waited for: that must not look like a watcher that crashes. */
    const nextIncarnation = (name: string) =>
      store.running().pipe(
        Effect.andThen(store.call("nextIncarnation", name)),
        Effect.retry({
          while: () => store.state !== "stopped" && store.state !== "gave-up",
          schedule: Schedule.spaced(storeRetryMs),
        }),
      )

    /** What each of those that talk to the API server uses: one that was starting when fresh credentials came gets them when it next meets a 401. */
    const handed = new Map<string, ApiEndpoint>()
    const credentials = new CredentialRefresh(options.endpoints, {
      had: (endpoint) => {
        const handOver = (name: string, call: Effect.Effect<void, CallError>): void => {
          if (handed.get(name) === endpoint) return
          Effect.runFork(Effect.ignore(call.pipe(Effect.map(() => handed.set(name, endpoint)))))
        }
        for (const { watcher } of watchers) handOver(watcher.name, watcher.call("credentials", endpoint))
        handOver(resolver.name, resolver.call("credentials", endpoint))
      },
      trouble: (trouble) => options.notify({ type: "credentials", trouble }),
    })
    const endpointFor = async (name: string): Promise<ApiEndpoint> => {
      const endpoint = await credentials.current()
      handed.set(name, endpoint)
      return endpoint
    }
    const watchers = kinds.map((kind) => {
      const gvk = kind.gvkText
      const name = watcherName(gvk)
      const watcher = system.spawn({
        definition: watcherDefinition,
        name,
        start: worker("watcher"),
        config: async () => {
          return watcherConfig(kind, kind.gvkText === podStream, await endpointFor(name), options)
        },
        incarnation: () => Effect.runPromise(nextIncarnation(name)),
        restart,
        onStateChange: (state, reason) => {
          // Nobody is watching until the next life says so.
          if (state === "backing-off") {
            const detail = `its watcher ended and is started again: ${reason.split("\n", 1)[0]}`
            statuses.set(gvk, "failing", detail, clock.wallMicros())
          }
          options.notify({ type: "actor", name, gvk, state, reason })
        },
        onReport: (given) => {
          const report = given.type === "state" ? { ...given, detail: withAdvice(given.detail) } : given
          if (report.type === "state") statuses.set(gvk, report.state, report.detail, report.atMicros)
          if (report.type === "cluster") Effect.runFork(Effect.ignore(store.call("setClusterUid", report.uid)))
          if (report.type === "unauthorized") {
            statuses.setUnauthorized(gvk)
            credentials.refresh()
          }
          options.notify({ type: "kind", gvk, report })
        },
        onGaveUp: (error) => {
          statuses.set(gvk, "stopped", error.message, clock.wallMicros())
          options.notify({ type: "stopped-kind", gvk, error })
          Effect.runFork(Effect.ignore(recordStop(gvk, error)))
        },
      })
      system.link(observationsMailbox, watcher, store)
      system.link(storedStateMailbox(name), store, watcher, "upstream")
      return { gvk, watcher }
    })
    const { resolver, settleOwners } = spawnOwnerResolver(system, store, {
      start: worker("owner-resolver"),
      endpoint: () => endpointFor(ownerResolverName),
      directory: options.directory,
      userAgent: options.userAgent,
      recordedKinds: recordedWhole(options.kinds),
      nextIncarnation: (name) => Effect.runPromise(nextIncarnation(name)),
      restart,
      onStateChange: onStateChange(ownerResolverName),
      onReport: (report) => {
        if (report.type === "unauthorized") credentials.refresh()
        else options.notify({ type: "owners", trouble: report.detail })
      },
    })
    /** A kind that is given up leaves a gap that stays open: from its last complete version to nobody knows where. */
    const recordStop = (gvk: string, error: ActorGaveUp) =>
      Effect.gen(function* () {
        const { resumeVersion, completeTime } = yield* store.call("kindState", gvk)
        const gap = {
          fromVersion: resumeVersion,
          toVersion: "",
          fromTime: completeTime,
          toTime: clock.wallMicros(),
          reason: "stopped" as const,
          detail: error.message,
        }
        yield* store.call("recordGap", { gvk, gap })
      })

    return {
      statuses,
      watchers,
      /** The kind whose watcher follows the lives of pods; `undefined` if no kind asks for it. */
      podStream,
      store,
      exporter,
      resolver,
      /** Waits for the owners that an export needs, but no longer than so many ms; answers which are unknown then. */
      settleOwners,
      system,
      exports: exportService,
      /** Fails when the recording cannot go on. */
      ended: Deferred.await(ended),
      /** How it ended; `undefined` until the scope is closed. */
      closed: (): RecordingClose | undefined => closed,
      /** Hands every watcher the credentials as they are now, if they are new. Answers whether they could be had. */
      renewCredentials: () => credentials.renew(),
      /** Commits what was received; answers the sequence number that an export may count on. */
      cut: (): Effect.Effect<number, StoreUnavailable | { readonly message: string }> => store.call("cut", undefined),
    }
  })

/** Scope that a recording needs; named for signatures. */
export type RecordingScope = Scope.Scope

/** An export job without what the recording fills in. */
export type ExportOrder = Omit<ExportJob, "export" | "cut">

const watcherConfig = (
  kind: TrackedKind,
  tracksPods: boolean,
  endpoint: ApiEndpoint,
  options: RecordingOptions,
): WatcherConfig => ({
  gvk: kind.gvkText,
  tracksPods,
  endpoint,
  userAgent: options.userAgent,
  detect: kind.detect,
  ignore: kind.ignore,
  keepManagedFields: kind.keepManagedFields,
  skipOwned: kind.skipOwned === "ingest",
  labelSelector: kind.labelSelector,
  fieldSelector: kind.fieldSelector,
  namespaces: kind.namespaces,
  policy: options.policy ?? defaultWatchPolicy,
  reportEvents: options.reportEvents ?? false,
})

/** Lives of actors whose frames do not outlive the process are numbered from 1. */
const counter = (): (() => number) => {
  let last = 0
  return () => ++last
}
