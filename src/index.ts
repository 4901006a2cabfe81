/**
 * kubereel embedded: record a cluster from your own program.
 *
 * ```ts
 * const recorder = await startRecorder({ kinds: ["apps/v1.Deployment", "v1.Pod"] })
 * await recorder.ready()
 * await recorder.export("now.ndjson")
 * await recorder.close()
 * ```
 *
 * The guide is docs/guides/embed.md. Sub-paths: `kubereel/archive` reads recordings, `kubereel/trace` their formats; `kubereel/recorder` is this recorder for
 * programs with Effect, `kubereel/runtime` its actors on worker threads; `kubereel/sandbox` is an embedded API server for tests, `kubereel/host` and
 * `kubereel/rehearsal` are for controllers.
 */

/** Why a kubeconfig or a pod's service account cannot be used: a union by `_tag`. */
export { type CredentialsError, isCredentialsError } from "./kube/credentials/errors.ts"
export type { ApiEndpoint, EndpointSource } from "./kube/endpoint.ts"
/** The state of a kind: `listing`, `watching`, … */
export type { KindState } from "./kube/watch/protocol/protocol.ts"
/** The configuration cannot be used: every mistake in it, or why it cannot be read. */
export {
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
} from "./recorder/configuration/problem.ts"
export { ExportError, type ExportedTrace, type ExportOptions } from "./recorder/embedded/embedded-export.ts"
export {
  type RecordedItem,
  type Recorder,
  type RecorderOptions,
  startRecorder,
} from "./recorder/embedded/embedded-recorder.ts"
export type { KindOptions, RecordedKinds } from "./recorder/embedded/kind-options.ts"
/** The recorder cannot listen on the port. */
export { ListenError } from "./recorder/http/listen-error.ts"
/** A file of the certificate for its interface cannot be used. */
export { CertificateFileError, type CertificateFiles } from "./recorder/http/serving-certificate.ts"
export type { RecorderLog } from "./recorder/notices/notice-log.ts"
export { RecorderError } from "./recorder/notices/recorder-error.ts"
export type { RecorderClose } from "./recorder/recording/recorder-actors.ts"
export type { KindStatus } from "./recorder/status/kind-status.ts"
