/**
 * A recorder as a process: configuration, credentials, data directory, the recording, its HTTP interface, and its end.
 *
 * It knows neither terminal nor exit codes: whoever calls it gives it a place to talk to and a signal to stop by, and gets told
 * how it ended.
 */
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { loadCredentials } from "../kube/credentials/credentials.ts"
import { HttpClient } from "../kube/http/http-client.ts"
import { defaultDetect, defaultIgnore } from "../kube/scanner/detect-rules.ts"
import { clusterUid } from "../kube/watch/enquiries.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/policy.ts"
import { systemClock } from "../runtime/clock.ts"
import type { RestartPolicy } from "../runtime/supervisor.ts"
import { loadConfiguration } from "./configuration/load-configuration.ts"
import { formatWarning } from "./configuration/problem.ts"
import { withinNamespaces, type RecorderConfiguration } from "./configuration/tracked-kind.ts"
import type { ExportRequest } from "./export-request.ts"
import { serveHttpApi } from "./http-api.ts"
import type { KindStatus } from "./kind-status.ts"
import { formatMetrics } from "./metrics-text.ts"
import { gatherMetrics } from "./recorder-metrics.ts"
import { type Recording, type RecordingNotice, startRecording } from "./recording.ts"

export interface RecorderSettings {
  /** Path of the configuration file. */
  readonly config: string
  /** Path of a kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** 0 picks a free port. */
  readonly port: number
  readonly bind: string
  /** Default: a new temporary directory, which is kept. */
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

/** Where the recorder talks to. */
export interface RecorderVoice {
  error(message: string, facts?: Readonly<Record<string, unknown>>): void
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void
  info(message: string, facts?: Readonly<Record<string, unknown>>): void
  debug(message: string, facts?: Readonly<Record<string, unknown>>): void
}

/** The machine keeps us from recording; the message says what to do. */
export class RecorderError extends Schema.TaggedError<RecorderError>()("RecorderError", {
  message: Schema.String
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

/** How a recording stands when it ends. */
export interface RecorderSummary {
  readonly events: number
  /** Kinds that were not being watched at the end. */
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
      defaults: { defaultDetect, defaultIgnore }
    })
    for (const warning of loaded.warnings) voice.warn(formatWarning(settings.config, warning))
    const configuration = withinNamespaces(loaded.configuration, settings.namespaces)
    const credentials = yield* Effect.tryPromise({
      try: () => loadCredentials({ kubeconfig: settings.kubeconfig, context: settings.context }),
      catch: (cause) => cause as Error
    })
    const dataDirectory = settings.dataDir ?? (yield* temporaryDirectory())
    const userAgent = `kubereel/${settings.version}`
    const recording = yield* startRecording({
      kinds: configuration.kinds,
      directory: dataDirectory,
      fsync: settings.fsync,
      endpoints: credentials,
      userAgent,
      reportEvents: settings.reportEvents,
      policy: settings.policy ?? defaultWatchPolicy,
      ...(settings.restart !== undefined && { restart: settings.restart }),
      notify: speak(voice)
    }).pipe(Effect.mapError((error) => new RecorderError({ message: reasonOf(error) })))
    yield* learnCluster(recording, credentials, userAgent)
    yield* refreshCredentials(recording, credentials)
    const { port } = yield* serveHttpApi(settings.bind, settings.port, {
      isReady: () => recording.statuses.isReady,
      verboseReadiness: () => recording.statuses.verboseReadiness(),
      metrics: async () => formatMetrics(await gatherMetrics(recording, systemClock.wallMicros())),
      incompleteHeader: () => recording.statuses.incompleteHeader(),
      startExport: (request, reader) => orderExport(recording, configuration, request, reader)
    })
    voice.info(`recording ${configuration.kinds.length} kinds of ${credentials.description}`, { directory: dataDirectory })
    voice.info(`listening on http://${settings.bind}:${port}`, { paths: "/healthz /readyz /metrics POST:/export" })
    return { recording, configuration, port, dataDirectory, cluster: credentials.description } satisfies RunningRecorder
  })

/** What a recorder amounts to now. */
export const summarise = (running: RunningRecorder) =>
  running.recording.store.call("statistics", undefined).pipe(
    Effect.map(({ events }): RecorderSummary => ({ events, incomplete: running.recording.statuses.incomplete() }))
  )

type Credentials = Awaited<ReturnType<typeof loadCredentials>>

const orderExport = (
  recording: Recording,
  configuration: RecorderConfiguration,
  request: ExportRequest,
  reader: Parameters<Recording["exports"]["start"]>[1]
) =>
  Effect.gen(function* () {
    const fromTime = request.start_time ?? request.start_ts * 1_000_000
    const untilTime = request.end_time ?? request.end_ts * 1_000_000
    if (untilTime <= fromTime) {
      return yield* Effect.fail({ status: 422, message: `the window is empty: it ends at ${untilTime} µs and starts at ${fromTime} µs` })
    }
    const cut = yield* recording.cut().pipe(
      Effect.mapError((error) => ({ status: 503, message: `the recording cannot be written now: ${error.message}` }))
    )
    const job = {
      format: request.format ?? ("simkube" as const),
      cut,
      fromTime,
      untilTime,
      excludedNamespaces: request.filters.excluded_namespaces,
      excludedLabels: request.filters.excluded_labels,
      skipOwned: configuration.kinds.filter((kind) => kind.skipOwned !== false).map((kind) => kind.gvkText),
      trackedObjects: trackedObjects(configuration),
      incomplete: Object.fromEntries(recording.statuses.incomplete().map(({ gvk, state }) => [gvk, state]))
    }
    return yield* recording.exports
      .start(job, reader)
      .pipe(Effect.mapError((error) => ({ status: error._tag === "ExportRefused" ? 422 : 503, message: error.message })))
  })

/** The part of our configuration that SimKube knows. */
const trackedObjects = (configuration: RecorderConfiguration): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    configuration.kinds.map(({ gvkText, podSpecTemplatePaths, trackLifecycle, skipOwned }) => [
      gvkText,
      { podSpecTemplatePaths, trackLifecycle, skipOwned: skipOwned !== false }
    ])
  )

/** Remembers which cluster this is, so that another one behind the same address is noticed (rule 12). Not permitted: the versions must do. */
const learnCluster = (recording: Recording, credentials: Credentials, userAgent: string) =>
  Effect.gen(function* () {
    const known = yield* recording.store.call("clusterUid", undefined)
    if (known !== "") return
    const endpoint = yield* Effect.tryPromise(() => credentials.endpoint())
    const client = new HttpClient(endpoint, { userAgent })
    const uid = yield* Effect.promise(() => clusterUid(client)).pipe(Effect.ensuring(Effect.sync(() => client.close())))
    if (uid !== undefined) yield* recording.store.call("setClusterUid", uid)
  }).pipe(Effect.ignore)

/** Fetches fresh credentials before they expire, for as long as the scope is open. */
const refreshCredentials = (recording: Recording, credentials: Credentials) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        const { refreshAfter } = credentials
        if (refreshAfter === undefined) return Effect.never
        return Effect.sleep(Math.max(1000, refreshAfter)).pipe(Effect.andThen(Effect.sync(() => recording.renewCredentials())))
      })
    )
  )

const temporaryDirectory = () =>
  Effect.tryPromise({
    try: () => mkdtemp(join(tmpdir(), "kubereel-")),
    catch: (cause) => new RecorderError({ message: `no temporary directory could be made: ${String(cause)}; name one with --data-dir` })
  })

const speak =
  (voice: RecorderVoice) =>
  (notice: RecordingNotice): void => {
    switch (notice.type) {
      case "kind":
        return speakOfKind(voice, notice)
      case "actor":
        if (notice.state === "backing-off") return voice.warn(`${notice.name} ended and is started again`, { reason: notice.reason })
        if (notice.state === "gave-up") return voice.error(`${notice.name} is given up`, { reason: notice.reason })
        return voice.debug(`${notice.name} ${notice.state}`)
      case "store":
        return voice.warn(notice.message)
      case "credentials":
        return voice.error(`fresh credentials could not be had: ${notice.message}`)
      case "stopped-kind":
        return voice.error(`${notice.gvk} is not recorded any more: ${notice.error.message}`)
    }
  }

const speakOfKind = (voice: RecorderVoice, { gvk, report, isNews }: Extract<RecordingNotice, { type: "kind" }>): void => {
  switch (report.type) {
    case "state": {
      if (report.state === "stopped" || !isNews) return voice.debug(`${gvk} ${report.state}: ${report.detail}`)
      const say = report.state === "failing" || report.state === "forbidden" ? voice.warn : voice.info
      return say(`${gvk} ${report.state}: ${report.detail}`)
    }
    case "alarm":
      return voice.warn(`${gvk}: ${report.detail}`)
    case "unauthorized":
      return voice.warn(`${gvk}: the server does not accept the credentials (401); fetching fresh ones`)
    case "cluster":
      return voice.warn(`${gvk}: namespace kube-system now has UID ${report.uid}`)
    case "event": {
      const action = report.action === "applied" ? "ObjectApplied" : "ObjectDeleted"
      const name = report.namespace === "" ? report.name : `${report.namespace}/${report.name}`
      return voice.debug(`${action} @ ${new Date(report.timeMicros / 1000).toISOString()}: ${gvk} ${name}`)
    }
  }
}

const reasonOf = (error: unknown): string => {
  if (typeof error === "object" && error !== null && "lastReason" in error) {
    // The tag before the store's own message is for programs.
    return String(error.lastReason).replace(/^[A-Za-z]+Error: /, "")
  }
  return error instanceof Error ? error.message : String(error)
}

/** Scope of a recorder, for signatures. */
export type RecorderScope = Scope.Scope
