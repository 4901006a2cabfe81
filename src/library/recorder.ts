/**
 * The recorder for programs that are written with Effect (`kubereel/recorder`); those that are not use `kubereel` itself.
 *
 * {@link startRecorder} is the whole recorder of `reel record` in a scope; {@link startRecorderActors} is the actors alone, with your own
 * endpoint. The types of clocks, restarts and actor errors that settings and recordings use are in `kubereel/runtime`.
 *
 * The types of the parameters, results and errors of these functions are exported here too.
 */

/** Parameters and refusals of `recording.exports`; gaps and events are types of `kubereel/trace`. */
/** Results and reports of a recording's store. */
/** The state of one namespace of a kind that is recorded namespace by namespace. */
/** Reports of a kind's watcher: its state, gaps, trouble. */
export type {
  ExportJob,
  ExportRefused,
  NamespaceState,
  StoreReport,
  StoreUnavailable,
  WatcherReport,
} from "../actors/index.ts"
/** Where a recorder may write traces ({@link RecorderSettings.allowedTargets}), parsed from values of `--allow-target`. */
export { type AllowedPlace, type AllowListReading, readAllowList } from "../blob/index.ts"
/** Why a kubeconfig or a pod's service account cannot be used: a union by `_tag`. */
/** The API server that an {@link EndpointSource} returns: URL, authority, identity. It contains secrets. */
/** The state of a kind: `listing`, `watching`, … */
export {
  type ApiEndpoint,
  type CredentialsError,
  defaultWatchPolicy,
  type EndpointSource,
  isCredentialsError,
  type KindState,
  type WatchPolicy,
} from "../kube/index.ts"
export type { GroupVersionKind } from "../kube/offline.ts"
/** Who may export ({@link RecorderSettings.access}), and why such settings are rejected. */
/** The file of `auth: "token"` cannot be used. */
/** The configuration file cannot be used: every mistake in it, or why it cannot be read. */
/** What is recorded: the kinds, each with all defaults filled in. Plain data. */
/** Maximum duration and size of exports ({@link RecorderSettings.exportLimits}). */
/** One export of a recording: where its bytes go, and how it is cancelled. */
/** The recorder cannot listen on the address. */
/** TLS of its interface ({@link RecorderSettings.tls}), and why such files are rejected. */
/** Actors that run in workers, for {@link RecorderActorsOptions.entry}. */
/** Looks up owners; queried before an export. */
/** The watcher of one recorded kind. */
/** The key for redacted values cannot be used. */
/** The state of each kind, and readiness. */
export {
  type AccessSettings,
  AnonymousRefused,
  CertificateFileError,
  type CertificateFiles,
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
  type Detect,
  defaultExportLimits,
  type ExportLimits,
  type ExportReader,
  type ExportService,
  type KindStatus,
  type KindStatuses,
  ListenError,
  type OwnerResolution,
  type Reconfiguration,
  type RecordedWatcher,
  type RecorderActors,
  type RecorderActorsOptions,
  type RecorderClose,
  type RecorderConfiguration,
  type RecorderEnd,
  RecorderError,
  type RecorderLog,
  type RecorderNotice,
  type RecorderSettings,
  type RecorderSummary,
  RecordingGone,
  RedactionKeyError,
  type RemovedKind,
  type RunningExport,
  type RunningRecorder,
  type SkipOwned,
  startRecorder,
  startRecorderActors,
  summarise,
  TokenFileError,
  type TrackedKind,
  type WorkerRole,
} from "../recorder/index.ts"
