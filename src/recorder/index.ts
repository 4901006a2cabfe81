/**
 * The recorder: its configuration, its actors and their supervision, readiness, HTTP API, access, exports and metrics. It is written with Effect; the same
 * for other programs is embedded/index.ts.
 *
 * Guarantee: nothing is lost that the API server still has, and what it no longer has is a gap that readiness, metrics and every answer show. Closing its
 * scope stops watches first, then empties mailboxes, then closes the database.
 */

export { clockTolerance } from "../actors/index.ts"
export { type Access, type Action, anonymousAccess, type Refusal } from "./access/access.ts"
export { isForeignPage, isOwnHost } from "./access/browser-guard.ts"
export { type AccessSettings, AnonymousRefused, isLoopback } from "./access/open-access.ts"
export { readTokenFile, TokenFileError, tokenFileAccess } from "./access/token-file.ts"
export { defaultConfiguration, defaultConfigurationName } from "./configuration/default-configuration.ts"
export {
  defaultExceptions,
  everyKindConfiguration,
  everyKindKey,
  expandEveryKind,
  isExcepted,
  isException,
} from "./configuration/every-kind.ts"
export { loadConfiguration } from "./configuration/load-configuration.ts"
export type { ParsedConfiguration } from "./configuration/parse-configuration.ts"
export {
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
  formatWarning,
} from "./configuration/problem.ts"
export {
  type GivenLimits,
  type KeptLimits,
  readRetainBytes,
  readRetainFor,
  retentionSettings,
} from "./configuration/retention-limits.ts"
export type { RecorderShard } from "./configuration/shard-of-kinds.ts"
export {
  type Detect,
  type RecorderConfiguration,
  recordedWhole,
  type SkipOwned,
  type TrackedKind,
  withinNamespaces,
} from "./configuration/tracked-kind.ts"
export type { Across, LateFacts } from "./export/late-changes.ts"
export { defaultExportLimits, type ExportLimits } from "./export/limits.ts"
export { type ExportReader, ExportService, type RunningExport } from "./export/service.ts"
export { json, refuse, text } from "./http/body/http-answer.ts"
export { RequestBodies } from "./http/body/request-bodies.ts"
export { bracketed, ListenError } from "./http/listen-error.ts"
export { pinJson } from "./http/pins.ts"
export { CertificateFileError, type CertificateFiles } from "./http/serving-certificate.ts"
export type { StreamEndReason } from "./http/stream-end.ts"
export type { LeaseSettings } from "./leadership/leadership.ts"
export {
  exportMegabytes,
  includedInThreeKinds,
  mailboxMegabytes,
  measuredMemory,
  usualMegabytes,
  type WorkerRole,
  watcherWorkers,
  worstMegabytes,
} from "./memory/memory-shares.ts"
export { volumeVariable } from "./metrics/disk-metrics.ts"
export { formatMetrics, type Metric, metricsContentType, type Sample } from "./metrics/metrics-text.ts"
export type { RecorderLog } from "./notices/notice-log.ts"
export { podVariables } from "./notices/pod-events.ts"
export { RecorderError } from "./notices/recorder-error.ts"
export type { RecorderNotice } from "./notices/recorder-notice.ts"
export { openOfflineRecording } from "./offline-recording.ts"
export { defaultAlertMargins } from "./pins/alert-pin.ts"
export type { PinSettings } from "./pins/open-pins.ts"
export { pinDirectory } from "./pins/pinned-recordings.ts"
export {
  type RecorderSettings,
  type RecorderSummary,
  type RunningRecorder,
  reasonOf,
  startRecorder,
  summarise,
} from "./recorder.ts"
export type { OwnerResolution } from "./recording/owner-resolution.ts"
export { type RecorderActors, startRecorderActors } from "./recording/recorder-actors.ts"
export {
  type RecorderActorsOptions,
  type RecorderClose,
  type RecorderEnd,
  RecordingGone,
} from "./recording/recording-base.ts"
export type { Reconfiguration, RecordedWatcher, RemovedKind } from "./recording/watchers.ts"
export { newRedactionKey, RedactionKeyError, readRedactionKey } from "./redaction/redaction-key.ts"
export { type SnapshotOutcome, type WrittenSnapshot, writeSnapshot } from "./snapshot/write-snapshot.ts"
export { namedKinds } from "./status/forbidden-kinds.ts"
export { byCause, type KindStatus, type KindStatuses } from "./status/kind-status.ts"
export { decodeRecorderState, type RecorderState, recorderStateKey } from "./status/recorder-state.ts"
export { serverTrouble } from "./status/server-trouble.ts"
export {
  credentialsAdvice,
  isRefusedCertificate,
  isRefusedCredentials,
  withConnectionAdvice,
} from "./status/trouble-advice.ts"
export { mayBeAggregated } from "./watchers/list-manners.ts"
export { defaultSharing } from "./watchers/placement.ts"
export { watchedKinds } from "./watchers/pod-stream.ts"
