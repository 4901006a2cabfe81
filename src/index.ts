/**
 * kubereel embedded: record a cluster from a program of your own.
 *
 * {@link startRecorder} is the whole recorder of `reel record` in a scope; {@link startRecording} is the actors alone, with an
 * endpoint of your own. Sub-paths: `kubereel/runtime` (actors on worker threads), `kubereel/trace` (formats, events, hashes),
 * `kubereel/sandbox` (an embedded API server for tests).
 */

export { defaultWatchPolicy, type WatchPolicy } from "./kube/watch/policy.ts"
export {
  RecorderError,
  type RecorderSettings,
  type RecorderSummary,
  type RecorderVoice,
  type RunningRecorder,
  startRecorder,
  summarise,
} from "./tracer/recorder.ts"
export {
  type EndpointSource,
  type Recording,
  type RecordingNotice,
  type RecordingOptions,
  startRecording,
} from "./tracer/recording.ts"
