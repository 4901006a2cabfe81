/**
 * Puts the actors together: one store, one exporter, a watcher per kind, and what goes between them.
 *
 * One scope holds all of it. Closing the scope stops the watchers first, then drains and closes the store. Only the failure of the
 * store ends the recording (`ended`); a kind whose watcher keeps crashing is stopped with a gap, and the others go on.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ExportJob, exporterDefinition } from "../actors/exporter/definition.ts"
import { exporterName, observationsMailbox, storedStateMailbox, storeName, watcherName } from "../actors/names.ts"
import { storeDefinition, type StoreUnavailable } from "../actors/store/definition.ts"
import { watcherDefinition, type WatcherConfig, type WatcherReport } from "../actors/watcher/definition.ts"
import type { ApiEndpoint } from "../kube/endpoint.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/policy.ts"
import { ActorSystem } from "../runtime/actor-system.ts"
import { type Clock, systemClock } from "../runtime/clock.ts"
import type { ActorGaveUp } from "../runtime/errors.ts"
import { defaultRestartPolicy, type RestartPolicy } from "../runtime/supervisor.ts"
import { workerThread } from "../runtime/thread.ts"
import type { TrackedKind } from "./configuration/tracked-kind.ts"
import { ExportService } from "./export-service.ts"
import { KindStatuses } from "./kind-status.ts"
import { memoryLimits, type WorkerRole, workerEntry } from "./worker-entries.ts"

/** Where requests' headers and certificates come from; the credentials module provides it. */
export interface EndpointSource {
  endpoint(): Promise<ApiEndpoint>
  /** The server refused what `endpoint` gave: fetch fresh credentials before the next answer. */
  onUnauthorized(): Promise<void>
}

/** What the recording tells whoever runs it, for logs. All rare, but for `event`. */
export type RecordingNotice =
  /** `isNews`: false for a state that the kind was in already. */
  | { readonly type: "kind"; readonly gvk: string; readonly report: WatcherReport; readonly isNews: boolean }
  | { readonly type: "actor"; readonly name: string; readonly state: string; readonly reason: string }
  | { readonly type: "store"; readonly message: string }
  | { readonly type: "credentials"; readonly message: string }
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

/** The store could not be opened or kept: nothing can be recorded. */
export type RecordingEnd = ActorGaveUp

/** A running recording. */
export type Recording = Effect.Success<ReturnType<typeof startRecording>>

/** Starts everything; answers once the store is open. Watchers go on starting; ask `statuses`. */
export const startRecording = (options: RecordingOptions) =>
  Effect.gen(function* () {
    const clock = options.clock ?? systemClock
    const entry = options.entry ?? workerEntry
    const restart = options.restart ?? defaultRestartPolicy
    const ended = yield* Deferred.make<never, ActorGaveUp>()
    const system = yield* ActorSystem.scoped({ clock })
    const statuses = new KindStatuses(
      options.kinds.map((kind) => kind.gvkText),
      clock.wallMicros()
    )
    const onStateChange = (name: string) => (state: string, reason: string) =>
      options.notify({ type: "actor", name, state, reason })
    const worker = (role: WorkerRole) => workerThread(entry(role), memoryLimits[role])

    const store = system.spawn({
      definition: storeDefinition,
      name: storeName,
      start: worker("store"),
      config: () => ({
        directory: options.directory,
        fsync: options.fsync,
        watchers: options.kinds.map(({ gvkText }) => ({ name: watcherName(gvkText), gvk: gvkText }))
      }),
      incarnation: counter(),
      restart,
      onStateChange: onStateChange(storeName),
      onReport: (report) =>
        options.notify({
          type: "store",
          message:
            report.type === "commit-failed"
              ? `the recording could not be written, trying again in ${report.retryInMs} ms: ${report.message}`
              : "the recording can be written again"
        }),
      onGaveUp: (error) => Deferred.doneUnsafe(ended, Effect.fail(error))
    })
    yield* Effect.raceFirst(store.running(), Deferred.await(ended))

    let exportService: ExportService | undefined
    const exporter = system.spawn({
      definition: exporterDefinition,
      name: exporterName,
      start: worker("exporter"),
      config: () => ({ directory: options.directory }),
      incarnation: counter(),
      restart,
      onStateChange: (state, reason) => {
        onStateChange(exporterName)(state, reason)
        if (state === "backing-off" || state === "gave-up") exportService?.exporterGone(reason)
      }
    })
    exportService = new ExportService(system, exporter, clock)

    const credentials = credentialRefresh(options.endpoints, (message) =>
      options.notify({ type: "credentials", message })
    )
    const watchers = options.kinds.map((kind) => {
      const gvk = kind.gvkText
      const name = watcherName(gvk)
      const watcher = system.spawn({
        definition: watcherDefinition,
        name,
        start: worker("watcher"),
        config: async () => watcherConfig(kind, await options.endpoints.endpoint(), options),
        incarnation: () => Effect.runPromise(store.call("nextIncarnation", name)),
        restart,
        onStateChange: onStateChange(name),
        onReport: (report) => {
          const isNews = report.type !== "state" || statuses.set(gvk, report.state, report.detail, report.atMicros)
          if (report.type === "cluster") Effect.runFork(Effect.ignore(store.call("setClusterUid", report.uid)))
          if (report.type === "unauthorized") credentials.refresh()
          options.notify({ type: "kind", gvk, report, isNews })
        },
        onGaveUp: (error) => {
          statuses.set(gvk, "stopped", error.message, clock.wallMicros())
          options.notify({ type: "stopped-kind", gvk, error })
          Effect.runFork(Effect.ignore(recordStop(gvk, error)))
        }
      })
      system.link(observationsMailbox, watcher, store)
      system.link(storedStateMailbox(name), store, watcher, "upstream")
      return { gvk, watcher }
    })
    credentials.onFresh((endpoint) => {
      for (const { watcher } of watchers) Effect.runFork(Effect.ignore(watcher.call("credentials", endpoint)))
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
          detail: error.message
        }
        yield* store.call("recordGap", { gvk, gap })
      })

    return {
      statuses,
      watchers,
      store,
      exporter,
      system,
      exports: exportService,
      /** Fails when the recording cannot go on. */
      ended: Deferred.await(ended),
      /** Hands every watcher the credentials as they are now. */
      renewCredentials: () => credentials.renew(),
      /** Commits what was received; answers the sequence number that an export may count on. */
      cut: (): Effect.Effect<number, StoreUnavailable | { readonly message: string }> => store.call("cut", undefined)
    }
  })

/** Scope that a recording needs; named for signatures. */
export type RecordingScope = Scope.Scope

/** An export job without what the recording fills in. */
export type ExportOrder = Omit<ExportJob, "export" | "cut">

const watcherConfig = (kind: TrackedKind, endpoint: ApiEndpoint, options: RecordingOptions): WatcherConfig => ({
  gvk: kind.gvkText,
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
  reportEvents: options.reportEvents ?? false
})

/** Lives of actors whose frames do not outlive the process are numbered from 1. */
const counter = (): (() => number) => {
  let last = 0
  return () => ++last
}

/** One refresh at a time, however many watchers meet a 401 at once. */
const credentialRefresh = (source: EndpointSource, failed: (message: string) => void) => {
  let running: Promise<void> | undefined
  let deliver: (endpoint: ApiEndpoint) => void = () => undefined
  const fetch = (before: () => Promise<void>): void => {
    running ??= before()
      .then(() => source.endpoint())
      .then((endpoint) => deliver(endpoint))
      // Watchers whose credentials are refused go on reporting it, and each report tries again.
      .catch((cause: unknown) => failed(cause instanceof Error ? cause.message : String(cause)))
      .finally(() => {
        running = undefined
      })
  }
  return {
    onFresh(listener: (endpoint: ApiEndpoint) => void): void {
      deliver = listener
    },
    /** The server refused the present ones. */
    refresh: () => fetch(() => source.onUnauthorized()),
    /** They are about to expire, or their files are read again. */
    renew: () => fetch(() => Promise.resolve())
  }
}
