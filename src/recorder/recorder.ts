/**
 * A recorder as a process: configuration, credentials, data directory, recording, HTTP interface, and shutdown.
 *
 * It knows neither terminal nor exit codes: the caller passes it a log and a signal to stop, and gets the result.
 */
import * as Effect from "effect/Effect"
import { type AllowedPlace, isAllowed } from "../blob/allow-list.ts"
import { openTarget } from "../blob/open-target.ts"
import { addressUrl, type StoreAddress } from "../blob/target-address.ts"
import { systemClock } from "../clock.ts"
import { loadCredentials } from "../kube/credentials/credentials.ts"
import { describeExpired } from "../kube/credentials/expired-credentials.ts"
import type { ApiEndpoint, EndpointSource } from "../kube/endpoint.ts"
import { isSecretKind } from "../kube/redaction/redaction-rules.ts"
import { defaultDetect, defaultIgnore } from "../kube/scanner/object/detect-rules.ts"
import { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/protocol/policy.ts"
import { messageOf } from "../message-of.ts"
import { memoryBound } from "../runtime/container-memory.ts"
import { ActorGaveUp, ActorGone } from "../runtime/errors.ts"
import type { RestartPolicy } from "../runtime/supervisor.ts"
import { type AccessSettings, checkAccess, openAccess } from "./access/open-access.ts"
import { defaultConfigurationName, readDefaultConfiguration } from "./configuration/default-configuration.ts"
import { loadConfiguration } from "./configuration/load-configuration.ts"
import { parseConfiguration } from "./configuration/parse-configuration.ts"
import { formatWarning } from "./configuration/problem.ts"
import { followConfiguration, Reloads } from "./configuration/reload/follow-configuration.ts"
import { openServerKinds } from "./configuration/reload/open-server-kinds.ts"
import { WantedKinds } from "./configuration/reload/wanted-kinds.ts"
import { type GivenLimits, retentionSettings } from "./configuration/retention-limits.ts"
import type { RecorderConfiguration, TrackedKind } from "./configuration/tracked-kind.ts"
import { askCoverage } from "./export/coverage.ts"
import { forecastExport } from "./export/forecast.ts"
import { defaultExportLimits, type ExportLimits } from "./export/limits.ts"
import { ExportPlaces } from "./export/places.ts"
import { type ExportContext, startExport } from "./export/start.ts"
import { bindHttpApi, type HttpApiSources, serveHttpApi, serveStandby } from "./http/http-api.ts"
import { shownTo, startQuery } from "./http/past.ts"
import { pastPaths } from "./http/past-request.ts"
import type { CertificateFiles } from "./http/serving-certificate.ts"
import { Subscriptions } from "./http/subscriptions.ts"
import { leaseName, openLeadership, type RecorderLease } from "./leadership/leadership.ts"
import { describeShortage } from "./memory/memory-shares.ts"
import { DiskMetrics, readVolumeBytes, volumeVariable } from "./metrics/disk-metrics.ts"
import { formatMetrics } from "./metrics/metrics-text.ts"
import { gatherMetrics } from "./metrics/recorder-metrics.ts"
import { NoticeLog, type RecorderLog } from "./notices/notice-log.ts"
import { openPodEvents } from "./notices/pod-events.ts"
import { RecorderError } from "./notices/recorder-error.ts"
import { learnCluster } from "./recording/learn-cluster.ts"
import { type RecorderActors, startRecorderActors } from "./recording/recorder-actors.ts"
import { readRedactionKey } from "./redaction/redaction-key.ts"
import type { KindStatus } from "./status/kind-status.ts"
import { temporaryDirectory } from "./temporary-directory.ts"
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
  /** Record `v1.Secret` as it is. Default: its values are redacted. */
  readonly secretsInPlainText?: boolean
  /** File with the key for redacted values; default: one in the data directory, which is made if there is none. */
  readonly redactKeyFile?: string | undefined
  readonly fsync: "interval" | "always"
  /** How long and how much is kept, with precedence over the configuration. Default: what that says. */
  readonly limits?: GivenLimits
  /** Default `auto`. */
  readonly listCompression?: ListCompression
  /** Log each recorded event at debug level. */
  readonly reportEvents: boolean
  readonly version: string
  /** Who may export. Default: anyone who can reach the address, which must then be a loopback address. */
  readonly access?: AccessSettings
  /** Where in object stores the recorder writes requested traces. Default: nowhere. */
  readonly allowedTargets?: ReadonlyArray<AllowedPlace>
  /** Maximum duration and size of an export. Default: an hour, any size. */
  readonly exportLimits?: ExportLimits
  /** For tests. */
  readonly policy?: WatchPolicy
  readonly restart?: RestartPolicy
}

export type { RecorderLog } from "./notices/notice-log.ts"
export { RecorderError } from "./notices/recorder-error.ts"

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
 * Fails with ConfigurationInvalidError, ConfigurationUnreadableError, AnonymousRefused, TokenFileError, CertificateFileError and RedactionKeyError (usage),
 * CredentialsError, ListenError and RecorderError (the machine).
 */
export const startRecorder = (settings: RecorderSettings, log: RecorderLog) =>
  Effect.gen(function* () {
    const { config } = settings
    const loadOptions = {
      secretsInPlainText: settings.secretsInPlainText === true,
      defaults: { defaultDetect, defaultIgnore },
    }
    const source = config === undefined ? defaultConfigurationName : typeof config === "string" ? config : inlineSource
    const loaded = yield* config === undefined
      ? loadConfiguration(defaultConfigurationName, { ...loadOptions, readBeginning: readDefaultConfiguration })
      : typeof config === "string"
        ? loadConfiguration(config, loadOptions)
        : Effect.fromResult(parseConfiguration(Buffer.from(config.text), { ...loadOptions, source: inlineSource }))
    for (const warning of loaded.warnings) log.warn(formatWarning(source, warning))
    const accessSettings = settings.access ?? { auth: "none", allowAnonymous: false }
    yield* checkAccess(accessSettings, settings.bind)
    const wanted = new WantedKinds(loaded.configuration, { ...loadOptions, namespaces: settings.namespaces })
    const { redactKeyFile } = settings
    // A mistake in the file is reported now instead of being retried for ever.
    if (redactKeyFile !== undefined)
      yield* Effect.tryPromise({ try: () => readRedactionKey(redactKeyFile), catch: (cause) => cause as Error })
    if (loadOptions.secretsInPlainText && (wanted.isEvery || wanted.kinds.some(({ gvk }) => isSecretKind(gvk))))
      log.warn(
        "v1.Secret is recorded in plain text (--secrets-in-plain-text): the recording and its exports contain every secret",
      )
    const { server } = settings
    const credentials = yield* Effect.tryPromise({
      try: async () =>
        server === undefined
          ? loadCredentials({ kubeconfig: settings.kubeconfig, context: settings.context })
          : givenCredentials(server),
      catch: (cause) => cause as Error,
    })
    // Mistakes in files that the kubeconfig refers to (tokens, plugins) are reported now instead of being retried for ever.
    let endpoint = yield* Effect.tryPromise({ try: () => credentials.endpoint(), catch: (cause) => cause as Error })
    const endpoints: EndpointSource = {
      endpoint: async () => {
        endpoint = await credentials.endpoint()
        return endpoint
      },
      onUnauthorized: () => credentials.onUnauthorized(),
      get problem() {
        return credentials.problem
      },
    }
    // The first step that has side effects: a port in use is the commonest mistake, and should not leave a data directory behind.
    const tls = settings.tls && { files: settings.tls, log }
    const bound =
      settings.port === undefined ? undefined : yield* bindHttpApi(settings.bind, settings.port, systemClock, tls)
    const serve = (sources: HttpApiSources) => (bound === undefined ? Effect.void : serveHttpApi(bound, sources))
    const { path: dataDirectory, keep } =
      settings.dataDir === undefined ? yield* temporaryDirectory() : { path: settings.dataDir, keep: () => undefined }
    const userAgent = `kubereel/${settings.version}`
    const access = yield* openAccess(accessSettings, {
      host: settings.bind,
      credentials,
      userAgent,
      clock: systemClock,
      trouble: (reason) => log.warn(`requests cannot be authorised: ${reason}`),
      recovered: () => log.info("requests can be authorised again"),
    })
    const reportListening = (): void => {
      if (bound === undefined) return
      const paths = `/healthz /readyz /metrics /v1/coverage ${pastPaths.join(" ")} POST:/export`
      log.info(`listening on ${bound.url}`, { paths, auth: accessSettings.auth })
    }
    const { lease, onLeaseLost: onLost = () => undefined } = settings
    const leadership =
      lease &&
      (yield* openLeadership({
        ...{ lease, directory: dataDirectory, server: endpoints, userAgent, log, onLost },
        ...{ clock: systemClock, random: Math.random },
      }))
    if (leadership !== undefined) {
      const metrics = (): string => formatMetrics(leadership.metrics())
      if (bound !== undefined) serveStandby(bound, { reason: () => leadership.reason(), metrics, access })
      reportListening()
      yield* Effect.promise(() => leadership.taken)
      settings.onLeaseTaken?.()
    }
    let running: RecorderActors | undefined
    const serverKinds = yield* openServerKinds({ wanted, endpoint: () => endpoint, userAgent, log })
    const notices = yield* Effect.acquireRelease(
      Effect.sync(
        () =>
          new NoticeLog(
            log,
            systemClock,
            () => describeExpired(endpoint, Date.now()),
            () => running?.statuses,
          ),
      ),
      (opened) => Effect.sync(() => opened.close()),
    )
    const reloads = new Reloads(systemClock)
    const memory = memoryBound()
    const disk = new DiskMetrics(dataDirectory, readVolumeBytes(process.env[volumeVariable]), systemClock)
    const actors = yield* startRecorderActors({
      kinds: wanted.kinds,
      directory: dataDirectory,
      fsync: settings.fsync,
      ...(lease !== undefined && { lease: leaseName(lease) }),
      retention: retentionSettings(loaded.configuration, settings.limits),
      endpoints,
      userAgent,
      reportEvents: settings.reportEvents,
      memory,
      policy: settings.policy ?? defaultWatchPolicy,
      ...(settings.listCompression !== undefined && { listCompression: settings.listCompression }),
      ...(redactKeyFile !== undefined && { redactKeyFile }),
      ...(settings.restart !== undefined && { restart: settings.restart }),
      onDefinition: (definition) => void serverKinds.defined(definition),
      unseenSince: (gvk) => serverKinds.unseenSince(gvk),
      notify: (notice) => {
        // A recording in a temporary directory is for this run: its key needs no care.
        const isOfNoUse = settings.dataDir === undefined && notice.type === "redaction-key" && "made" in notice
        if (!isOfNoUse) notices.hear(notice)
      },
    }).pipe(Effect.mapError((error) => new RecorderError({ message: reasonOf(error) })))
    running = actors
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
    yield* Effect.forkScoped(learnCluster(actors, credentials, userAgent))
    yield* refreshCredentials(actors, credentials)
    yield* serve({
      notReady: () => actors.statuses.notReady(),
      degraded: () => actors.statuses.degraded(),
      verboseReadiness: () => actors.statuses.verboseReadiness(),
      metrics: Effect.suspend(() =>
        Effect.all([gatherMetrics(actors, systemClock.wallMicros()), Effect.promise(() => disk.now())], {
          concurrency: "unbounded",
        }),
      ).pipe(
        Effect.map(([ofActors, ofDisk]) =>
          formatMetrics([...ofActors, ...ofDisk, ...reloads.metrics(), ...(leadership?.metrics() ?? [])]),
        ),
      ),
      access,
      rejected: (facts) => log.warn("rejected", { ...facts }),
      coverage: (window) => askCoverage(actors, window, systemClock.wallMicros()),
      shownTo: (reader, question) => shownTo(actors, reader, question),
      startQuery: (question, reader) => startQuery(actors, question, reader, systemClock.wallMicros()),
      nowMicros: () => systemClock.wallMicros(),
      forecast: (request) => forecastExport(exportContext(), request),
      startExport: (request, reader, gone) => startExport(exportContext(), request, reader, gone),
      places: new ExportPlaces(systemClock),
      subscriptions: new Subscriptions(),
      limits: settings.exportLimits ?? defaultExportLimits,
      audit: (line) => log.info("export", { ...line }),
      barred: (address) => barredTarget(address, settings.allowedTargets ?? []),
      openTarget: (address, contentType) => openTarget(address, { contentType }),
      uploadLeft: (error) => log.warn(`an upload was aborted, and parts of it may remain: ${error.message}`),
    })
    const kindsOf = (given: RecorderConfiguration): ReadonlyArray<TrackedKind> => wanted.configure(given)
    const reload =
      typeof config !== "string"
        ? async () => log.info("there is no configuration file to read again")
        : yield* followConfiguration(
            actors,
            { file: config, configuration: loaded.configuration, load: loadOptions, kindsOf, limits: settings.limits },
            log,
            reloads,
            yield* openPodEvents(process.env, { credentials, userAgent, clock: systemClock, log }),
          )
    keep()
    if (config === undefined)
      log.info(
        `no --config: recording ${defaultConfigurationName}, ${wanted.kinds.map(({ gvkText }) => gvkText).join(", ")}; "reel k8s --offline" prints it`,
      )
    const { length } = wanted.kinds
    log.info(`recording ${length} ${length === 1 ? "kind" : "kinds"} of ${credentials.description}`, {
      directory: dataDirectory,
    })
    if (leadership === undefined) reportListening()
    // The file may have changed in the days of standing by.
    else if (typeof config === "string") yield* Effect.promise(reload)
    return {
      actors,
      get configuration() {
        return inForce()
      },
      reload,
      exportContext,
      port: bound?.port,
      dataDirectory,
      cluster: credentials.description,
    } satisfies RunningRecorder
  })

/** What messages call a configuration that is in no file. */
const inlineSource = "the configuration"

/** Credentials that the caller looks after: an endpoint that stays as it is, or a source that renews it. */
const givenCredentials = (server: ApiEndpoint | EndpointSource) => {
  const isSource = "endpoint" in server
  return {
    endpoint: async () => (isSource ? server.endpoint() : server),
    onUnauthorized: async () => (isSource ? server.onUnauthorized() : undefined),
    get problem() {
      return isSource ? server.problem : undefined
    },
    refreshAfter: undefined,
    description: isSource ? "the given API server" : server.server,
    defaultNamespace: "default",
  }
}

/** Summarises the state of a recorder. */
export const summarise = (running: RunningRecorder) =>
  running.actors.store
    .call("statistics", undefined)
    .pipe(Effect.map(({ events }): RecorderSummary => ({ events, incomplete: running.actors.statuses.incomplete() })))

/** The recorder writes with its own credentials, so its operator decides where it may. */
const barredTarget = (address: StoreAddress, allowed: ReadonlyArray<AllowedPlace>) =>
  isAllowed(address, allowed)
    ? undefined
    : {
        status: 403,
        message: `this recorder may not write to ${addressUrl(address)}; its operator can allow that with --allow-target`,
      }

type Credentials = EndpointSource & { readonly refreshAfter: number | undefined }

/** ms between two attempts to renew credentials. */
const failedRefreshMs = 10_000

/** Fetches fresh credentials before they expire, for as long as the scope is open. */
const refreshCredentials = (actors: RecorderActors, credentials: Credentials) =>
  Effect.forkScoped(
    Effect.forever(
      Effect.suspend(() => {
        const { refreshAfter } = credentials
        if (refreshAfter === undefined) return Effect.never
        return Effect.sleep(Math.max(1000, refreshAfter)).pipe(
          Effect.andThen(Effect.promise(() => actors.renewCredentials())),
          // Limits how often a failing plugin is run, as after a 401.
          Effect.andThen((wentWell) => (wentWell ? Effect.void : Effect.sleep(failedRefreshMs))),
        )
      }),
    ),
  )

/** Why the store ended, from either source of the error; the tag before the store's own message is for programs. */
export const reasonOf = (error: unknown): string => {
  if (error instanceof ActorGaveUp) return withoutTag(error.lastReason)
  if (error instanceof ActorGone) return withoutTag(error.reason)
  return messageOf(error)
}

const withoutTag = (reason: string): string => reason.replace(/^[A-Za-z]+Error: /, "")
