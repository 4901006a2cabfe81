/**
 * The recorder for programs that are written with Effect (`kubereel/recorder`); those that are not use `kubereel` itself.
 *
 * {@link startRecorder} is the whole recorder of `reel record` in a scope; {@link startRecorderActors} is the actors alone, with your own
 * endpoint. The types of clocks, restarts and actor errors that settings and recordings use are in `kubereel/runtime`.
 *
 * The types of the parameters, results and errors of these functions are exported here too.
 */

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
