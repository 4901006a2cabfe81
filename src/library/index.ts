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

export {
  type ApiEndpoint,
  type CredentialsError,
  type EndpointSource,
  isCredentialsError,
  type KindState,
} from "../kube/index.ts"
export {
  ExportError,
  type ExportedTrace,
  type ExportOptions,
  type KindOptions,
  type RecordedItem,
  type RecordedKinds,
  type Recorder,
  type RecorderOptions,
  startRecorder,
} from "../recorder/embedded/index.ts"
export {
  CertificateFileError,
  type CertificateFiles,
  ConfigurationInvalidError,
  type ConfigurationProblem,
  ConfigurationUnreadableError,
  type KindStatus,
  ListenError,
  type RecorderClose,
  RecorderError,
  type RecorderLog,
} from "../recorder/index.ts"
