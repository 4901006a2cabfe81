/**
 * A recorder as a process: configuration, credentials, data directory, the recording, its HTTP interface, and its end.
 *
 * It knows neither terminal nor exit codes: whoever calls it gives it a place to talk to and a signal to stop by, and gets told
 * how it ended.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ExportRefused } from "../actors/exporter/definition.ts"
import type { Settled } from "../actors/owner-resolver/definition.ts"
import { loadCredentials } from "../kube/credentials/credentials.ts"
import { HttpClient } from "../kube/http/http-client.ts"
import { defaultDetect, defaultIgnore } from "../kube/scanner/detect-rules.ts"
import { clusterUid } from "../kube/watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/policy.ts"
import { systemClock } from "../runtime/clock.ts"
import { ActorGaveUp, ActorGone, type CallError } from "../runtime/errors.ts"
import type { RestartPolicy } from "../runtime/supervisor.ts"
import { loadConfiguration } from "./configuration/load-configuration.ts"
import { formatWarning } from "./configuration/problem.ts"
import { type RecorderConfiguration, recordedWhole, withinNamespaces } from "./configuration/tracked-kind.ts"
import { type ExportRequest, ownerDeadlineMs } from "./export-request.ts"
import { serveHttpApi } from "./http-api.ts"
import type { KindStatus } from "./kind-status.ts"
import { formatMetrics } from "./metrics-text.ts"
import { NoticeLog, type RecorderVoice } from "./notice-log.ts"
import { gatherMetrics } from "./recorder-metrics.ts"
import { type Recording, startRecording } from "./recording.ts"

export interface RecorderSettings {
  /** Path of the configuration file. */
  readonly config: string
  /** Path of a kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** 0 picks a free port. */
  readonly port: number
  readonly bind: string
  /** Default: a new temporary directory, which is kept once the recorder has started. */
  readonly dataDir: string | undefined
  /** Record only these namespaces, with a mere Role. Empty: all. */
  readonly namespaces: ReadonlyArray<string>
  readonly allowSecrets: boolean
  readonly fsync: "interval" | "always"
  /** Say each recorded event at debug level. */
  readonly reportEvents: boolean
  readonly version: string
  /** For tests. */
  readonly policy?: WatchPolicy
  readonly restart?: RestartPolicy
}

export type { RecorderVoice } from "./notice-log.ts"

/** The machine keeps us from recording; the message says what to do. */
export class RecorderError extends Schema.TaggedError<RecorderError>()("RecorderError", {
  message: Schema.String,
}) {}

/** A recorder at work. */
export interface RunningRecorder {
  readonly recording: Recording
  readonly configuration: RecorderConfiguration
  /** The port it listens on. */
  readonly port: number
  readonly dataDirectory: string
  /** Where the cluster is, for people. */
  readonly cluster: string
}

/** How a recording stands. */
export interface RecorderSummary {
  readonly events: number
  /** Kinds that are not being watched. */
  readonly incomplete: ReadonlyArray<KindStatus>
}

/**
 * Starts a recorder in the surrounding scope; closing that scope stops it in order.
 *
 * Fails with ConfigurationInvalidError and ConfigurationUnreadableError (usage), CredentialsError, ListenError and
 * RecorderError (the machine).
 */
export const startRecorder = (settings: RecorderSettings, voice: RecorderVoice) =>
  Effect.gen(function* () {
    const loaded = yield* loadConfiguration(settings.config, {
      allowSecrets: settings.allowSecrets,
      defaults: { defaultDetect, defaultIgnore },
    })
    for (const warning of loaded.warnings) voice.warn(formatWarning(settings.config, warning))
    const configuration = withinNamespaces(loaded.configuration, settings.namespaces)
    const credentials = yield* Effect.tryPromise({
      try: () => loadCredentials({ kubeconfig: settings.kubeconfig, context: settings.context }),
      catch: (cause) => cause as Error,
    })
    // What the kubeconfig points to (token files, plugins) is a mistake to be told of now, not a reason to try for ever.
    yield* Effect.tryPromise({ try: () => credentials.endpoint(), catch: (cause) => cause as Error })
    const { path: dataDirectory, keep } =
      settings.dataDir === undefined ? yield* temporaryDirectory() : { path: settings.dataDir, keep: () => undefined }
    const userAgent = `kubereel/${settings.version}`
    const log = yield* Effect.acquireRelease(
      Effect.sync(() => new NoticeLog(voice, systemClock)),
      (opened) => Effect.sync(() => opened.close()),
    )
    const recording = yield* startRecording({
      kinds: configuration.kinds,
      directory: dataDirectory,
      fsync: settings.fsync,
      endpoints: credentials,
      userAgent,
      reportEvents: settings.reportEvents,
      policy: settings.policy ?? defaultWatchPolicy,
      ...(settings.restart !== undefined && { restart: settings.restart }),
      notify: (notice) => log.hear(notice),
    }).pipe(Effect.mapError((error) => new RecorderError({ message: reasonOf(error) })))
    // Not waited for: a server that accepts and never answers must not keep the interface shut.
    yield* Effect.forkScoped(learnCluster(recording, credentials, userAgent))
    yield* refreshCredentials(recording, credentials)
    const { port, url } = yield* serveHttpApi(settings.bind, settings.port, {
      isReady: () => recording.statuses.isReady,
      verboseReadiness: () => recording.statuses.verboseReadiness(),
      metrics: async () => formatMetrics(await gatherMetrics(recording, systemClock.wallMicros())),
      incompleteHeader: () => recording.statuses.incompleteHeader(),
      startExport: (request, reader) => orderExport(recording, configuration, request, reader),
    })
    keep()
    const { length } = configuration.kinds
    voice.info(`recording ${length} ${length === 1 ? "kind" : "kinds"} of ${credentials.description}`, {
      directory: dataDirectory,
    })
    voice.info(`listening on ${url}`, { paths: "/healthz /readyz /metrics POST:/export" })
    return { recording, configuration, port, dataDirectory, cluster: credentials.description } satisfies RunningRecorder
  })

/** What a recorder amounts to now. */
export const summarise = (running: RunningRecorder) =>
  running.recording.store
    .call("statistics", undefined)
    .pipe(
      Effect.map(({ events }): RecorderSummary => ({ events, incomplete: running.recording.statuses.incomplete() })),
    )

type Credentials = Awaited<ReturnType<typeof loadCredentials>>

const orderExport = (
  recording: Recording,
  configuration: RecorderConfiguration,
  request: ExportRequest,
  reader: Parameters<Recording["exports"]["start"]>[1],
) =>
  Effect.gen(function* () {
    const fromTime = request.start_time ?? request.start_ts * 1_000_000
    const untilTime = request.end_time ?? request.end_ts * 1_000_000
    if (untilTime <= fromTime) {
      return yield* Effect.fail({
        status: 422,
        message: `the window is empty: it ends at ${untilTime} µs and starts at ${fromTime} µs`,
      })
    }
    const cut = yield* recording
      .cut()
      .pipe(
        Effect.mapError((error) => ({ status: 503, message: `the recording cannot be written now: ${error.message}` })),
      )
    const format = request.format ?? ("simkube" as const)
    const job = {
      format,
      cut,
      fromTime,
      untilTime,
      excludedNamespaces: request.filters.excluded_namespaces,
      excludedLabels: request.filters.excluded_labels,
      skipOwned: configuration.kinds.filter((kind) => kind.skipOwned !== false).map((kind) => kind.gvkText),
      excludeOwned: request.filters.excluded_owned ?? format === "simkube",
      excludeDaemonSetOwned: request.filters.excluded_daemonset_owned ?? format === "simkube",
      recordedKinds: recordedWhole(configuration.kinds),
      trackedObjects: trackedObjects(configuration),
      incomplete: Object.fromEntries(recording.statuses.incomplete().map(({ gvk, state }) => [gvk, state])),
    }
    const needsOwners =
      job.excludeOwned || (format === "simkube" && configuration.kinds.some((kind) => kind.trackLifecycle))
    const settled = needsOwners
      ? yield* recording.settleOwners(request.owner_deadline_ms ?? ownerDeadlineMs)
      : ({ unknown: 0, first: [] } satisfies Settled)
    const started = yield* recording.exports
      .start(job, reader)
      .pipe(Effect.mapError((error) => ({ status: refusalStatus(error), message: error.message })))
    return { ...started, unknownOwners: describeUnknown(settled) }
  })

/** For a header: `3 (apps/v1.ReplicaSet shop/web-1, …)`; `undefined` if all are known. Names are ASCII by Kubernetes' rules. */
const describeUnknown = ({ unknown, first }: Settled): string | undefined => {
  if (unknown === 0) return undefined
  const names = first.map(({ gvk, namespace, name }) => `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`)
  const text = `${unknown} (${names.join(", ")}${unknown > first.length ? ", ..." : ""})`
  // What stands in an ownerReference was never validated; a header must hold no other characters.
  return text.replaceAll(/[^ -~]/g, "?")
}

const refusalStatus = (error: ExportRefused | CallError): number => {
  if (error._tag !== "ExportRefused") return 503
  return { request: 422, recording: 500, busy: 503 }[error.fault]
}

/** The part of our configuration that SimKube knows. */
const trackedObjects = (configuration: RecorderConfiguration): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    configuration.kinds.map(({ gvkText, podSpecTemplatePaths, trackLifecycle, skipOwned }) => [
      gvkText,
      { podSpecTemplatePaths, trackLifecycle, skipOwned: skipOwned !== false },
    ]),
  )

/** Remembers which cluster this is, so that another one behind the same address is noticed (rule 12). Not permitted: the versions must do. */
const learnCluster = (recording: Recording, credentials: Credentials, userAgent: string) =>
  Effect.gen(function* () {
    const known = yield* recording.store.call("clusterUid", undefined)
    if (known !== "") return
    const endpoint = yield* Effect.tryPromise(() => credentials.endpoint())
    const client = new HttpClient(endpoint, { userAgent })
    const uid = yield* Effect.promise(() => clusterUid(client)).pipe(Effect.ensuring(Effect.sync(() => client.close())))
    // A watcher may have learnt it meanwhile, and later than this was asked.
    const isStillUnknown = (yield* recording.store.call("clusterUid", undefined)) === ""
    if (uid !== undefined && isStillUnknown) yield* recording.store.call("setClusterUid", uid)
  }).pipe(Effect.ignore)

/** ms between two tries to renew credentials that could not be renewed. */
const failedRefreshMs = 10_000

/** Fetches fresh credentials before they expire, for as long as the scope is open. */
const refreshCredentials = (recording: Recording, credentials: Credentials) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        const { refreshAfter } = credentials
        if (refreshAfter === undefined) return Effect.never
        return Effect.sleep(Math.max(1000, refreshAfter)).pipe(
          Effect.andThen(Effect.promise(() => recording.renewCredentials())),
          // A plugin that fails is asked again no more often than after a 401.
          Effect.andThen((wentWell) => (wentWell ? Effect.void : Effect.sleep(failedRefreshMs))),
        )
      }),
    ),
  )

/** A new directory that is removed with the scope, after all that was opened in it since, unless it was told to be kept. */
const temporaryDirectory = () =>
  Effect.gen(function* () {
    let isKept = false
    const path = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => mkdtemp(join(tmpdir(), "kubereel-")),
        catch: (cause) =>
          new RecorderError({
            message: `no temporary directory could be made: ${String(cause)}; name one with --data-dir`,
          }),
      }),
      // Nobody was told where it is. If it cannot be removed there is nothing to add to why the start failed.
      (made) =>
        isKept ? Effect.void : Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
    )
    const keep = (): void => {
      isKept = true
    }
    return { path, keep }
  })

/** What ended the store, whichever way it was learnt; the tag before the store's own message is for programs. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof ActorGaveUp) return withoutTag(error.lastReason)
  if (error instanceof ActorGone) return withoutTag(error.reason)
  return error instanceof Error ? error.message : String(error)
}

const withoutTag = (reason: string): string => reason.replace(/^[A-Za-z]+Error: /, "")

/** Scope of a recorder, for signatures. */
export type RecorderScope = Scope.Scope
