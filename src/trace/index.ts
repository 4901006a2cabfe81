/**
 * Traces: their events and items, windows, filters, owners, lives of pods, and the formats that they are read from and written to.
 *
 * Guarantee: reading and writing need no cluster and bounded memory; objects keep their bytes where the format does; a damaged file is an error with its
 * place, or a line that was left out and counted. Times are µs since the Unix epoch.
 */

export {
  type Author,
  type AuthoredWrite,
  type Client,
  requestedObject,
  type WriteEffect,
  writeEffects,
} from "./audited-authors.ts"
export type { ComparedName } from "./comparison/change-log.ts"
export {
  type ChangedObject,
  type ComparedTrace,
  type ComparedTraceFacts,
  compareTraces,
  type DifferentChanges,
  type TraceComparison,
} from "./comparison/compare-traces.ts"
export type {
  Action,
  EventTimes,
  GapEvent,
  GapReason,
  LateCause,
  LateChanges,
  ObjectEvent,
  RecordedGapReason,
  TraceEvent,
  TraceGapReason,
} from "./event.ts"
export { eventKinds, eventStatement, isCreation } from "./event-statement.ts"
export { openDecoder, openEncoder } from "./files/codecs.ts"
export { type ConvertError, type ConvertProgress, type ConvertSummary, convertInto } from "./files/convert-file.ts"
export { type HtmlReportOptions, htmlReport } from "./files/html-report.ts"
export { type Delivery, type EndpointCompression, type OtlpSink, otlpEndpoint } from "./files/otlp-endpoint.ts"
export { codeOf, ExportInterrupted, OutputExists, OutputFailed } from "./files/output-errors.ts"
export {
  type OutputFileSystem,
  type OutputSink,
  openOutputFile,
  openOutputForEnd,
  streamOutput,
} from "./files/output-file.ts"
export {
  InputUnreadable,
  openTraceFile,
  plainTrace,
  readAgain,
  SpooledBytes,
  type TraceInput,
} from "./files/trace-input.ts"
export { openTraceItems } from "./files/trace-items.ts"
export { compressed, DecompressionError, decompressed } from "./formats/compression.ts"
export { type Compression, compressionOfBytes, withoutCompressionExtension } from "./formats/compression-names.ts"
export { type ConversionProgress, convertTrace, needsSurvey, surveyTrace } from "./formats/convert.ts"
export { decodedItems, type TraceItems } from "./formats/decoded-items.ts"
export {
  BadTraceError,
  type EncoderOptions,
  type LeftOut,
  nothingLeftOut,
  type TraceDecoder,
  type TraceEncoder,
  UnwritableTraceError,
} from "./formats/format.ts"
export { kwokEncoder } from "./formats/kwok/kwok-encoder.ts"
export { ResourceNames } from "./formats/kwok/resource-names.ts"
export {
  FORMAT_SIGNATURE_BYTES,
  factsOf,
  formatOfAccept,
  formatOfBytes,
  formatOfFileName,
  TRACE_FORMAT_NAMES,
  type TraceFormatName,
} from "./formats/names.ts"
export {
  NDJSON_FORMAT,
  NDJSON_VERSION,
  type NdjsonCounts,
  NdjsonError,
  type NdjsonHeader,
  type NdjsonItem,
} from "./formats/ndjson/ndjson.ts"
export { NdjsonReader, readNdjson } from "./formats/ndjson/ndjson-reader.ts"
export { NdjsonWriter, ndjsonDecoder, writeNdjson } from "./formats/ndjson/ndjson-writer.ts"
export { type ItemFilter, ownerReferencesIn } from "./formats/owned-items.ts"
export { DriverLimits } from "./formats/simkube/driver-limits.ts"
export { NestingTooDeepError, simkubeHash } from "./formats/simkube/hash/simkube-hash.ts"
export { stablePodSpecHash } from "./formats/simkube/hash/stable-pod-spec.ts"
export { MessagePackError, type MessagePackValue } from "./formats/simkube/message-pack/message-pack.ts"
export { decodeMessagePack, MessagePackReader } from "./formats/simkube/message-pack/message-pack-reader.ts"
export { encodeMessagePack, MessagePackWriter } from "./formats/simkube/message-pack/message-pack-writer.ts"
export {
  builtInTemplatePaths,
  DEFAULT_TEMPLATE_PATHS,
  encodeTrackedObjects,
  normaliseTrackedObject,
  readTrackedObjects,
  type TrackedObject,
  TrackedObjectError,
  type TrackedObjects,
} from "./formats/simkube/simkube-config.ts"
export { SIMKUBE_TRACE_VERSION, SimkubeTraceError, UnwritableChangeError } from "./formats/simkube/simkube-trace.ts"
export {
  readSimkubeTrace,
  type SimkubeTraceItem,
  SimkubeTraceReader,
  type SimkubeValues,
} from "./formats/simkube/simkube-trace-reader.ts"
export {
  type SimkubeChange,
  type SimkubeObjectName,
  type SimkubeSnapshotObject,
  type SimkubeTraceOptions,
  SimkubeTraceWriter,
} from "./formats/simkube/simkube-trace-writer.ts"
export { TraceSurvey } from "./formats/trace-survey.ts"
export { compactJson } from "./json/compact-json.ts"
export { differencesBetween } from "./json/difference.ts"
export {
  exactJsonIn,
  floatValue,
  formatExactJson,
  IntegralFloat,
  isJsonList,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  MAX_DEPTH,
  MalformedJsonError,
  parseExactJson,
  withProperty,
} from "./json/exact-json.ts"
export { changedAt, pathOf } from "./json/extended-pointer.ts"
export { managersBetween } from "./json/field-managers.ts"
export { type FieldPath, fieldTextOf, isFieldPath, parseFieldPath, valuesAt } from "./json/field-path.ts"
export { sortedKeys } from "./json/key-order.ts"
export {
  isDeeper,
  listIn,
  memberIn,
  objectIn,
  objectsIn,
  textIn,
  withMember,
  withoutMember,
  withoutNulls,
} from "./json/members.ts"
export { inDependencyOrder } from "./ownership/dependency-order.ts"
export { type OwnerReference, parseOwnerReferences, readOwnerReferences } from "./ownership/owner-references.ts"
export { groupKindOf, gvkOfReference, Ownership, objectKey, ownerKey } from "./ownership/ownership.ts"
export {
  endedLifetime,
  nextLifetime,
  type ObservedLifetime,
  observeLifetime,
  type PodLifetime,
  type PodOddity,
  type PodProblem,
} from "./pods/pod-lifecycle.ts"
export { podKind, podLivesKind } from "./pods/pod-lives-kind.ts"
export * as podStages from "./pods/pod-stages.ts"
export {
  createDelayAnnotation,
  exitCodeAnnotation,
  jitterSuffix,
  readyDelayAnnotation,
  restartsAnnotation,
  runTimeAnnotation,
} from "./pods/pod-stages.ts"
export { findPodStatus, readPodSpec, readPodStatus } from "./pods/pod-text.ts"
export { microsOf } from "./rfc3339.ts"
export { hasPrescribedName, isBuiltInKind, kindWithoutVersion } from "./sanitising/built-in-kinds.ts"
export { withoutGenerated } from "./sanitising/generated-fields.ts"
export { metadataIn, metadataOf } from "./sanitising/managed-fields.ts"
export { type IsInTrace, replayObject, withoutStatus } from "./sanitising/replay-object.ts"
export {
  deletionStub,
  type SimkubeObject,
  type SimkubeType,
  sanitise,
  simkubeType,
  specOf,
} from "./sanitising/sanitise.ts"
export { FilteredView, type Showing } from "./selection/filtered-view.ts"
export {
  type CompiledFilters,
  compileFilters,
  ExportFilters,
  GivenFilters,
  InvalidSelectorError,
  LabelSelector,
  labelsOf,
} from "./selection/filters.ts"
export { fileSpool, memorySpool, type Spool, SpoolError, spoolWithReserve } from "./spool.ts"
export { type MergeRules, StrategicMergeError } from "./strategic-merge/merge-rules.ts"
export { strategicMerge } from "./strategic-merge/strategic-merge.ts"
export {
  type IncompletePart,
  namespacedName,
  type OwnedLifecycles,
  type PodLifecycle,
  REMOVED_FOR_REPLAY,
  REMOVED_FOR_SIMKUBE,
  type TraceHeader,
  type TraceItem,
} from "./trace-item.ts"
export { type HtmlOptions, htmlEncoder } from "./views/html/html-encoder.ts"
export {
  type ExportedFormat,
  exportedFormatOf,
  hasRecordedObjects,
  isTextView,
  isView,
  mediaTypeOf,
  openView,
  VIEW_NAMES,
  type ViewName,
  viewOfFileName,
} from "./views/views.ts"
