/**
 * The recorder for programs without Effect: promises and async iterators. A door of its own, because its names are those of the recorder with Effect.
 */

export { ExportError, type ExportedTrace, type ExportOptions } from "./embedded-export.ts"
export { type RecordedItem, type Recorder, type RecorderOptions, startRecorder } from "./embedded-recorder.ts"
export type { KindOptions, RecordedKinds } from "./kind-options.ts"
