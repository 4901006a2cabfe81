/**
 * The recorder for programs that are written with Effect (`kubereel/recorder`); those that are not use `kubereel` itself.
 *
 * {@link startRecorder} is the whole recorder of `reel record` in a scope; {@link startRecorderActors} is the actors alone, with your own
 * endpoint. The types of clocks, restarts and actor errors that settings and recordings use are in `kubereel/runtime`.
 *
 * The types of the parameters, results and errors of these functions are exported here too.
 */

/** Parameters and refusals of `recording.exports`; gaps and events are types of `kubereel/trace`. */
export type { ExportJob, ExportRefused } from "../actors/exporter/exporter-interface.ts"
/** Results and reports of a recording's store. */
export type { StoreReport, StoreUnavailable } from "../actors/store/store-interface.ts"
/** The state of one namespace of a kind that is recorded namespace by namespace. */
export type { NamespaceState } from "../actors/watcher/namespace-states.ts"
/** Reports of a kind's watcher: its state, gaps, trouble. */
export type { WatcherReport } from "../actors/watcher/watcher-interface.ts"
/** Where a recorder may write traces ({@link RecorderSettings.allowedTargets}), parsed from values of `--allow-target`. */
export { type AllowedPlace, type AllowListReading, readAllowList } from "../blob/allow-list.ts"
/** Why a kubeconfig or a pod's service account cannot be used: a union by `_tag`. */
export { type CredentialsError, isCredentialsError } from "../kube/credentials/errors.ts"
/** The API server that an {@link EndpointSource} returns: URL, authority, identity. It contains secrets. */
export type { ApiEndpoint } from "../kube/endpoint.ts"
export type { GroupVersionKind } from "../kube/gvk.ts"
export { defaultWatchPolicy, type WatchPolicy } from "../kube/watch/protocol/policy.ts"
/** The state of a kind: `listing`, `watching`, … */
export type { KindState } from "../kube/watch/protocol/protocol.ts"
/** Who may export ({@link RecorderSettings.access}), and why such settings are rejected. */
export { type AccessSettings, AnonymousRefused } from "./access/open-access.ts"
/** The file of `auth: "token"` cannot be used. */
export { TokenFileError } from "./access/token-file.ts"
/** The configuration file cannot be used: every mistake in it, or why it cannot be read. */
export {
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
} from "./configuration/problem.ts"
/** What is recorded: the kinds, each with all defaults filled in. Plain data. */
export type { Detect, RecorderConfiguration, SkipOwned, TrackedKind } from "./configuration/tracked-kind.ts"
/** Maximum duration and size of exports ({@link RecorderSettings.exportLimits}). */
export { defaultExportLimits, type ExportLimits } from "./export/limits.ts"
/** One export of a recording: where its bytes go, and how it is cancelled. */
export type { ExportReader, ExportService, RunningExport } from "./export/service.ts"
/** The recorder cannot listen on the address. */
export { ListenError } from "./http/listen-error.ts"
/** TLS of its interface ({@link RecorderSettings.tls}), and why such files are rejected. */
export { CertificateFileError, type CertificateFiles } from "./http/serving-certificate.ts"
/** Actors that run in workers, for {@link RecorderActorsOptions.entry}. */
export type { WorkerRole } from "./memory/memory-shares.ts"
export {
  RecorderError,
  type RecorderLog,
  type RecorderSettings,
  type RecorderSummary,
  type RunningRecorder,
  startRecorder,
  summarise,
} from "./recorder.ts"
/** Looks up owners; queried before an export. */
export type { OwnerResolution } from "./recording/owner-resolution.ts"
export {
  type EndpointSource,
  type Reconfiguration,
  type RecorderActors,
  type RecorderActorsOptions,
  type RecorderClose,
  type RecorderEnd,
  type RecorderNotice,
  RecordingGone,
  type RemovedKind,
  startRecorderActors,
} from "./recording/recorder-actors.ts"
/** The watcher of one recorded kind. */
export type { RecordedWatcher } from "./recording/watchers.ts"
/** The key for redacted values cannot be used. */
export { RedactionKeyError } from "./redaction/redaction-key.ts"
/** The state of each kind, and readiness. */
export type { KindStatus, KindStatuses } from "./status/kind-status.ts"
