/**
 * A recorder as a process: configuration, credentials, data directory, recording, HTTP interface, and shutdown.
 *
 * It knows neither terminal nor exit codes: the caller passes it a log and a signal to stop, and gets the result.
 */

import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import type { AllowedPlace } from "../blob/index.ts"
import { systemClock } from "../clock.ts"
import {
  type ApiEndpoint,
  defaultDetect,
  defaultIgnore,
  defaultWatchPolicy,
  describeExpired,
  type EndpointSource,
  isSecretKind,
  type WatchPolicy,
} from "../kube/index.ts"
import { messageOf } from "../message-of.ts"
import { ActorGaveUp, ActorGone, memoryBound, type RestartPolicy } from "../runtime/index.ts"
import type { Access } from "./access/access.ts"
import { type AccessSettings, checkAccess, openAccess } from "./access/open-access.ts"
import { tokenFileAccess } from "./access/token-file.ts"
import { AuditWebhook } from "./audit/audit-webhook.ts"
import { defaultConfigurationName, readDefaultConfiguration } from "./configuration/default-configuration.ts"
import { loadConfiguration } from "./configuration/load-configuration.ts"
import { parseConfiguration } from "./configuration/parse-configuration.ts"
import { formatWarning } from "./configuration/problem.ts"
import { followConfiguration, Reloads } from "./configuration/reload/follow-configuration.ts"
import { openServerKinds, WantedKinds } from "./configuration/reload/server-kinds.ts"
import { type GivenLimits, retentionSettings } from "./configuration/retention-limits.ts"
import { type RecorderShard, shardName } from "./configuration/shard-of-kinds.ts"
import type { RecorderConfiguration } from "./configuration/tracked-kind.ts"
import type { ExportLimits } from "./export/limits.ts"
import type { ExportContext } from "./export/start.ts"
import { bindHttpApi, serveHttpApi, serveStandby } from "./http/http-api.ts"
import { pastPaths } from "./http/past-request.ts"
import type { CertificateFiles } from "./http/serving-certificate.ts"
import { leaseName, openLeadership, type RecorderLease } from "./leadership/leadership.ts"
import { describeShortage, shareOf } from "./memory/memory-shares.ts"
import { archiveMetrics } from "./metrics/archive-metrics.ts"
import { formatMetrics } from "./metrics/metrics-text.ts"
import { Beginning } from "./notices/beginning.ts"
import { NoticeLog, type RecorderLog } from "./notices/notice-log.ts"
import { openPodEvents } from "./notices/pod-events.ts"
import { RecorderError } from "./notices/recorder-error.ts"
import type { RecorderNotice } from "./notices/recorder-notice.ts"
import { openPinned } from "./open-pinned.ts"
import { openPins, type PinSettings } from "./pins/open-pins.ts"
import { askClusterUid, learnCluster, openCredentials, refreshCredentials } from "./recorder-credentials.ts"
import type { ArchiveSettings } from "./recording/archiving.ts"
import { type RecorderActors, startRecorderActors } from "./recording/recorder-actors.ts"
import { readRedactionKey } from "./redaction/redaction-key.ts"
import { servedRecording } from "./served-recording.ts"
import type { KindStatus } from "./status/kind-status.ts"
import type { ListCompression } from "./watchers/list-manners.ts"

export interface RecorderSettings {
  /**
   * Path of the configuration file, whose changes are followed; or the configuration itself, as YAML; `undefined`: the default configuration, which is also
   * that of a recorder in a cluster.
   */
  readonly config: string | { readonly text: string } | undefined
  /** Path of a kubeconfig; default: KUBECONFIG, ~/.kube/config, or the pod's service account. */
  readonly kubeconfig: string | undefined
  readonly context: string | undefined
  /** The API server, or a source of its address and credentials, in place of a kubeconfig. */
  readonly server?: ApiEndpoint | EndpointSource
  /** 0 picks a free port; `undefined`: no HTTP interface. */
  readonly port: number | undefined
  readonly bind: string
  /** PEM files, for TLS on that interface; followed when they are replaced. Default: plain HTTP. */
  readonly tls?: CertificateFiles | undefined
  /** The HTTP interface is bound to this port. */
  readonly onListening?: (port: number) => void
  /** Default: a new temporary directory, kept once the recorder has started. */
  readonly dataDir: string | undefined
  /** Record only while this Lease is held; stand by until then. Default: record. */
  readonly lease?: RecorderLease | undefined
  /** The Lease is held and the directory free: recording begins. */
  readonly onLeaseTaken?: () => void
  /** The Lease is lost: the recorder must be closed, and must have ended in so many ms. */
  readonly onLeaseLost?: (withinMs: number) => void
  /** Record only these namespaces, for which a Role is enough. Empty: all. */
  readonly namespaces: ReadonlyArray<string>
  /** The part of the cluster that this recorder records, in a recording of its own. Default: all of it. */
  readonly shard?: RecorderShard | undefined
  /** Record `v1.Secret` as it is. Default: its values are redacted. */
  readonly secretsInPlainText?: boolean
  /** File with the key for redacted values; default: one in the data directory, which is made if there is none. */
  readonly redactKeyFile?: string | undefined
  readonly fsync: "interval" | "always"
  /** Where the recording is archived, and how often in ms. Default: nowhere. */
  readonly archive?: Omit<ArchiveSettings, "clusterUid"> | undefined
  /** How long and how much is kept, with precedence over the configuration. Default: what that says. */
  readonly limits?: GivenLimits
  /** Default `auto`. */
  readonly listCompression?: ListCompression
  /** Log each recorded event at debug level. */
  readonly reportEvents: boolean
  readonly version: string
  /** Who may export. Default: anyone who can reach the address, which must then be a loopback address. */
  readonly access?: AccessSettings
  /** File with the tokens of API servers that send audit events. Default: none are taken. */
  readonly auditTokenFile?: string | undefined
  /** Where in object stores the recorder writes requested traces. Default: nowhere. */
  readonly allowedTargets?: ReadonlyArray<AllowedPlace>
  /** Default: what {@link PinSettings} says. */
  readonly pins?: PinSettings
  /** How many recorders, this one included, share the memory of the container or machine. Default 1. */
  readonly sharing?: number
  /** Maximum duration and size of an export. Default: an hour, any size. */
  readonly exportLimits?: ExportLimits
  /** For tests. */
  readonly policy?: WatchPolicy
  readonly restart?: RestartPolicy
}

/** A running recorder. */
export interface RunningRecorder {
  readonly actors: RecorderActors
  /** The current configuration. */
  readonly configuration: RecorderConfiguration
  /** Reads the configuration file now and applies changes; never rejects, mistakes are logged. */
  readonly reload: () => Promise<void>
  /** What an export of this recording is made from, at this moment. */
  readonly exportContext: () => ExportContext
  /** The port it listens on; `undefined` without an HTTP interface. */
  readonly port: number | undefined
  readonly dataDirectory: string
  /** Address of the cluster, for people. */
  readonly cluster: string
}

/** The state of a recording. */
export interface RecorderSummary {
  readonly events: number
  /** Kinds that are not being watched. */
  readonly incomplete: ReadonlyArray<KindStatus>
}

/**
 * Starts a recorder in the surrounding scope; closing that scope stops it in order.
 *
 * Fails with ConfigurationInvalidError, ConfigurationUnreadableError, AnonymousRefused, TokenFileError, CertificateFileError, RedactionKeyError, StreamRefused and ShardRefused (usage),
 * CredentialsError, ListenError and RecorderError (the machine).
 */
export const startRecorder = (settings: RecorderSettings, log: RecorderLog) =>
  Effect.gen(function* () {
    const { config } = settings
    const { loaded, wanted, load, access: accessSettings } = yield* readSettings(settings, log)
    const credentials = yield* openCredentials(settings)
    const { endpoints, description } = credentials
    // The first step that has side effects: a port in use is the commonest mistake, and should not leave a data directory behind.
    const tls = settings.tls && { files: settings.tls, log }
    const bound =
      settings.port === undefined ? undefined : yield* bindHttpApi(settings.bind, settings.port, systemClock, tls)
    if (bound !== undefined) settings.onListening?.(bound.port)
    const { path: dataDirectory, keep } =
      settings.dataDir === undefined ? yield* temporaryDirectory() : { path: settings.dataDir, keep: () => undefined }
    const userAgent = `kubereel/${settings.version}`
    const access = yield* openAccess(accessSettings, {
      ...{ host: settings.bind, credentials: credentials.source, userAgent, clock: systemClock },
      trouble: (reason) => log.warn(`requests cannot be authorised: ${reason}`),
      recovered: () => log.info("requests can be authorised again"),
    })
    const reportListening = (): void => {
      if (bound === undefined) return
      const paths = `/healthz /readyz /metrics /v1/coverage ${pastPaths.join(" ")} POST:/export`
      log.info(`listening on ${bound.url}`, { paths, auth: accessSettings.auth })
    }
    const standby = { bound, access, reportListening }
    const leadership = yield* takeLease(settings, { directory: dataDirectory, endpoints, userAgent, log, ...standby })
    const serverKinds = yield* openServerKinds({ wanted, endpoint: credentials.current, userAgent, log })
    const reloads = new Reloads(systemClock)
    const memory = shareOf(memoryBound(), settings.sharing ?? 1)
    const notify = yield* openNotices(settings, log, credentials.current)
    const isArchived = settings.archive !== undefined && bound !== undefined
    if (isArchived) {
      const metrics = (): string => formatMetrics(leadership?.metrics() ?? [])
      serveStandby(bound, { reason: () => notify.beginning.reason, metrics, access })
      if (leadership === undefined) reportListening()
    }
    const actors = yield* startRecorderActors({
      ...actorSettings(settings),
      kinds: wanted.kinds,
      directory: dataDirectory,
      retention: retentionSettings(loaded.configuration, settings.limits),
      ...(settings.archive !== undefined && {
        archive: { ...settings.archive, clusterUid: () => askClusterUid(credentials.source, userAgent) },
      }),
      ...{ endpoints, userAgent, memory },
      onDefinition: (definition) => void serverKinds.defined(definition),
      unseenSince: (gvk) => serverKinds.unseenSince(gvk),
      notify: (notice) => notify.hear(notice),
    }).pipe(
      Effect.mapError((error) =>
        error._tag === "StreamRefused" || error._tag === "ShardRefused"
          ? error
          : new RecorderError({ message: reasonOf(error) }),
      ),
    )
    notify.follow(actors.statuses)
    serverKinds.follow(actors)
    const shortage = describeShortage(memory, actors.watchers.length)
    if (shortage !== undefined) log.warn(shortage)
    /** Read for each request: it may change while the recorder runs. */
    const inForce = (): RecorderConfiguration => ({
      ...loaded.configuration,
      kinds: [...actors.kinds, ...actors.former],
    })
    const exportContext = (): ExportContext => ({
      recording: actors,
      configuration: inForce(),
      nowMicros: systemClock.wallMicros(),
    })
    // Not awaited: a server that accepts connections and never responds must not delay the HTTP interface.
    yield* Effect.forkScoped(learnCluster(actors, credentials.source, userAgent))
    yield* refreshCredentials(actors, credentials.source)
    const auditWebhook = openAuditWebhook(settings, actors, log)
    const { exportLimits, pins: pinSettings = {} } = settings
    const pinned = yield* openPins(pinSettings, {
      actors,
      exportContext,
      exportLimits,
      dataDirectory,
      openCopy: openPinned,
      log,
    })
    const metrics = () => [
      ...reloads.metrics(),
      ...(leadership?.metrics() ?? []),
      ...pinned.metrics(),
      ...archiveMetrics(actors.archiveFigures()),
    ]
    if (bound !== undefined) {
      const parts = { actors, access, exportContext, settings, dataDirectory, metrics, auditWebhook, log }
      const served = servedRecording({ ...parts, pins: pinned.pins })
      yield* Effect.addFinalizer(() => Effect.promise(() => served.pinned.copies.close()))
      yield* serveHttpApi(bound, served)
    }
    const followed = { configuration: loaded.configuration, load, limits: settings.limits }
    const reload =
      typeof config !== "string"
        ? async () => log.info("there is no configuration file to read again")
        : yield* followConfiguration(
            actors,
            { ...followed, file: config, kindsOf: (given) => wanted.configure(given) },
            log,
            reloads,
            yield* openPodEvents(process.env, { credentials: credentials.source, userAgent, clock: systemClock, log }),
          )
    keep()
    const { kinds } = wanted
    if (config === undefined)
      log.info(
        `no --config: recording ${defaultConfigurationName}, ${kinds.map(({ gvkText }) => gvkText).join(", ")}; "reel k8s --offline" prints it`,
      )
    const part = settings.shard === undefined ? "" : `, as shard ${shardName(settings.shard)}`
    log.info(`recording ${kinds.length} ${kinds.length === 1 ? "kind" : "kinds"} of ${description}${part}`, {
      directory: dataDirectory,
    })
    if (leadership === undefined && !isArchived) reportListening()
    // The file may have changed in the days of standing by.
    if (leadership !== undefined && typeof config === "string") yield* Effect.promise(reload)
    return {
      actors,
      get configuration() {
        return inForce()
      },
      ...{ reload, exportContext, port: bound?.port, dataDirectory, cluster: description },
    } satisfies RunningRecorder
  })

/** ms for which audit events wait for the first lists: an API server sends a batch for more than a minute. */
const longestStartMs = 30_000

const openAuditWebhook = (
  { auditTokenFile }: RecorderSettings,
  { store, statuses }: RecorderActors,
  log: RecorderLog,
): AuditWebhook | undefined => {
  const untilMs = systemClock.monotonicMs() + longestStartMs
  return auditTokenFile === undefined
    ? undefined
    : new AuditWebhook({
        isStarting: () => !statuses.areFirstListsOver && systemClock.monotonicMs() < untilMs,
        access: tokenFileAccess(auditTokenFile, (error) => {
          if (error === undefined) log.info("audit events can be authorised again")
          else log.warn(`audit events cannot be authorised: ${error.message}`)
        }),
        add: (batch) => Effect.runPromise(store.call("addAuthors", batch)),
        clock: systemClock,
        log,
      })
}

/** What the actors are started with as it was given. */
const actorSettings = ({ lease, listCompression, redactKeyFile, restart, ...settings }: RecorderSettings) => ({
  fsync: settings.fsync,
  reportEvents: settings.reportEvents,
  policy: settings.policy ?? defaultWatchPolicy,
  ...(lease !== undefined && { lease: leaseName(lease) }),
  ...(listCompression !== undefined && { listCompression }),
  ...(redactKeyFile !== undefined && { redactKeyFile }),
  ...(restart !== undefined && { restart }),
  ...(settings.shard !== undefined && { shard: shardName(settings.shard) }),
})

interface Candidate {
  readonly directory: string
  readonly endpoints: EndpointSource
  readonly userAgent: string
  readonly log: RecorderLog
  readonly bound: Effect.Success<ReturnType<typeof bindHttpApi>> | undefined
  readonly access: Access
  readonly reportListening: () => void
}

/** Stands by until this recorder holds its Lease; `undefined` at once if it has none. */
const takeLease = (
  { lease, onLeaseLost: onLost = () => undefined, onLeaseTaken }: RecorderSettings,
  { directory, endpoints: server, userAgent, log, bound, access, reportListening }: Candidate,
) =>
  Effect.gen(function* () {
    if (lease === undefined) return undefined
    const leadership = yield* openLeadership({
      ...{ lease, directory, server, userAgent, log, onLost },
      ...{ clock: systemClock, random: Math.random },
    })
    const metrics = (): string => formatMetrics(leadership.metrics())
    if (bound !== undefined) serveStandby(bound, { reason: () => leadership.reason(), metrics, access })
    reportListening()
    yield* Effect.promise(() => leadership.taken)
    onLeaseTaken?.()
    return leadership
  })

/** Reads the configuration, and reports mistakes in files and settings now instead of retrying for ever. */
const readSettings = (settings: RecorderSettings, log: RecorderLog) =>
  Effect.gen(function* () {
    const { config, redactKeyFile } = settings
    const load = {
      secretsInPlainText: settings.secretsInPlainText === true,
      defaults: { defaultDetect, defaultIgnore },
    }
    const source = config === undefined ? defaultConfigurationName : typeof config === "string" ? config : inlineSource
    const loaded = yield* config === undefined
      ? loadConfiguration(source, { ...load, readBeginning: readDefaultConfiguration })
      : typeof config === "string"
        ? loadConfiguration(config, load)
        : Effect.fromResult(parseConfiguration(Buffer.from(config.text), { ...load, source }))
    for (const warning of loaded.warnings) log.warn(formatWarning(source, warning))
    const access: AccessSettings = settings.access ?? { auth: "none", allowAnonymous: false }
    yield* checkAccess(access, settings.bind)
    if (settings.auditTokenFile !== undefined)
      yield* checkAccess({ auth: "token", tokenFile: settings.auditTokenFile }, settings.bind)
    const wanted = new WantedKinds(loaded.configuration, {
      ...load,
      namespaces: settings.namespaces,
      shard: settings.shard,
    })
    if (redactKeyFile !== undefined)
      yield* Effect.tryPromise({ try: () => readRedactionKey(redactKeyFile), catch: (cause) => cause as Error })
    if (load.secretsInPlainText && (wanted.isEvery || wanted.kinds.some(({ gvk }) => isSecretKind(gvk))))
      log.warn(
        "v1.Secret is recorded in plain text (--secrets-in-plain-text): the recording and its exports contain every secret",
      )
    return { loaded, wanted, load, access }
  })

/** The log of the actors' notices, closed with the scope. */
const openNotices = ({ dataDir }: RecorderSettings, log: RecorderLog, endpoint: () => ApiEndpoint) =>
  Effect.gen(function* () {
    let statuses: RecorderActors["statuses"] | undefined
    const expired = (): string | undefined => describeExpired(endpoint(), Date.now())
    const notices = yield* Effect.acquireRelease(
      Effect.sync(() => new NoticeLog(log, systemClock, expired, () => statuses)),
      (opened) => Effect.sync(() => opened.close()),
    )
    const beginning = new Beginning()
    return {
      beginning,
      hear: (notice: RecorderNotice): void => {
        beginning.hear(notice)
        // A recording in a temporary directory is for this run: its key needs no care.
        const isOfNoUse = dataDir === undefined && notice.type === "redaction-key" && "made" in notice
        if (!isOfNoUse) notices.hear(notice)
      },
      follow: (all: RecorderActors["statuses"]): void => {
        statuses = all
      },
    }
  })

/** A new directory that is removed with the scope, after everything that was opened in it, unless `keep` was called. */
const temporaryDirectory = () =>
  Effect.gen(function* () {
    let isKept = false
    const path = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => mkdtemp(join(tmpdir(), "kubereel-")),
        catch: (cause) =>
          new RecorderError({
            message: `no temporary directory could be created: ${String(cause)}; name a directory with --data-dir`,
          }),
      }),
      // Its name was never reported. If it cannot be removed, there is nothing to add to the reason of the failed start.
      (made) =>
        isKept ? Effect.void : Effect.ignore(Effect.tryPromise(() => rm(made, { recursive: true, force: true }))),
    )
    const keep = (): void => {
      isKept = true
    }
    return { path, keep }
  })

/** What messages call a configuration that is in no file. */
const inlineSource = "the configuration"

/** Summarises the state of a recorder. */
export const summarise = (running: RunningRecorder) =>
  running.actors.store
    .call("statistics", undefined)
    .pipe(Effect.map(({ events }): RecorderSummary => ({ events, incomplete: running.actors.statuses.incomplete() })))

/** Why the store ended, from either source of the error; the tag before the store's own message is for programs. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof ActorGaveUp) return withoutTag(error.lastReason)
  if (error instanceof ActorGone) return withoutTag(error.reason)
  return messageOf(error)
}

const withoutTag = (reason: string): string => reason.replace(/^[A-Za-z]+Error: /, "")
