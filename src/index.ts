/**
 * kubereel embedded: record a cluster from a program of your own.
 *
 * {@link startRecorder} is the whole recorder of `reel record` in a scope; {@link startRecorderActors} is the actors alone, with an
 * endpoint of your own. Sub-paths: `kubereel/runtime` (actors on worker threads; clocks, restarts and the errors of actors, which
 * settings and recordings mention, are there), `kubereel/trace` (formats, events, hashes), `kubereel/sandbox` (an embedded API
 * server for tests).
 *
 * What these functions take, give and fail with is named here as well.
 */

/** What `recording.exports` takes and how it refuses; a gap or an event in it is of `kubereel/trace`. */
export type { ExportJob, ExportRefused } from "./actors/exporter/definition.ts"
/** What a recording's store answers with, and reports. */
export type { StoreReport, StoreUnavailable } from "./actors/store/definition.ts"
/** What a kind's watcher reports: its state, gaps, trouble. */
export type { WatcherReport } from "./actors/watcher/definition.ts"
/** The state of one namespace of a kind that is recorded namespace by namespace. */
export type { NamespaceState } from "./actors/watcher/progress/namespace-states.ts"
/** Where a recorder may write traces ({@link RecorderSettings.allowedTargets}), from what `--allow-target` takes. */
export { type AllowedPlace, type AllowListReading, readAllowList } from "./blob/allow-list.ts"
/** Why a kubeconfig or a pod's service account leads to no cluster: a union by `_tag`. */
export { type CredentialsError, isCredentialsError } from "./kube/credentials/errors.ts"
/** An API server to talk to, which {@link EndpointSource} gives: URL, authority, identity. It holds secrets. */
export type { ApiEndpoint } from "./kube/endpoint.ts"
export type { GroupVersionKind } from "./kube/gvk.ts"
export { defaultWatchPolicy, type WatchPolicy } from "./kube/watch/protocol/policy.ts"
/** What a kind is doing: `listing`, `watching`, … */
export type { KindState } from "./kube/watch/protocol/protocol.ts"
/** Who may export ({@link RecorderSettings.access}), and why such settings are refused. */
export { type AccessSettings, AnonymousRefused } from "./recorder/access/open-access.ts"
/** The file of `auth: "token"` does not serve. */
export { TokenFileError } from "./recorder/access/token-file.ts"
/** The configuration file cannot be used; every mistake in it, or why it cannot be read. */
export {
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
} from "./recorder/configuration/problem.ts"
/** What is recorded: the kinds, each with everything decided. Plain data. */
export type { Detect, RecorderConfiguration, SkipOwned, TrackedKind } from "./recorder/configuration/tracked-kind.ts"
/** How long and how large exports may be ({@link RecorderSettings.exportLimits}). */
export { defaultExportLimits, type ExportLimits } from "./recorder/export/limits.ts"
/** One export of a recording: where its bytes go, and how it is given up. */
export type { ExportReader, ExportService, RunningExport } from "./recorder/export/service.ts"
/** The address cannot be had. */
export { ListenError } from "./recorder/http/listen-error.ts"
/** The state of each kind, and readiness. */
export type { KindStatus, KindStatuses } from "./recorder/kind-status.ts"
/** Owners that are looked up, asked before an export. */
export type { OwnerResolution } from "./recorder/owner-resolution.ts"
export {
  RecorderError,
  type RecorderLog,
  type RecorderSettings,
  type RecorderSummary,
  type RunningRecorder,
  startRecorder,
  summarise,
} from "./recorder/recorder.ts"
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
} from "./recorder/recorder-actors.ts"
/** The watcher of one recorded kind. */
export type { RecordedWatcher } from "./recorder/watchers/spawn-watchers.ts"
/** Actors that run in workers, for {@link RecorderActorsOptions.entry}. */
export type { WorkerRole } from "./recorder/worker-entries.ts"
