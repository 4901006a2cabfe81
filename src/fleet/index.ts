/**
 * Streams: the recordings of clusters in object storage, as numbered segments.
 *
 * Guarantee: the segments of a stream, applied in order, are one recording, whoever wrote each of them. What is damaged, missing or doubled is named. Two recorders
 * never both add the same number.
 */

export {
  afterEvent,
  commandOf,
  describeFenced,
  type FenceCommand,
  type Fenced,
  type FenceEvent,
  type FenceState,
  isOpening,
  nextNumber,
  openFence,
} from "./fence/fence.ts"
export { type FoundDirectory, type FoundStream, newTenure, type Start, startOf } from "./fence/take-over.ts"
export { ChainLink, decodeTenure, encodeTenure, Shipment, Tenure } from "./fence/tenure.ts"
export {
  isStreamError,
  NewerStreamError,
  NoStreamError,
  RestoredUnsoundError,
  SegmentDamagedError,
  StreamBrokenError,
  type StreamError,
} from "./fleet-errors.ts"
export { encodeSegment, SEGMENT_BYTES } from "./segment/segment-encoder.ts"
export type { EncodedSegment, SegmentFacts, SegmentIdentity, StoredSegment } from "./segment/segment-facts.ts"
export {
  readSegment,
  readSegmentEnd,
  type SegmentEnd,
  type SegmentStore,
  segmentKey,
} from "./segment/segment-reader.ts"
export { type Restored, type RestoreOptions, type RestoreProgress, restoreStream } from "./stream/restore-stream.ts"
export { compactedThrough, lastSegment, requireConditions } from "./stream/stream-end.ts"
export {
  beginStream,
  type CreatingStore,
  readDescription,
  type Stream,
  type StreamDescription,
  StreamReader,
  type StreamStore,
} from "./stream/stream-reader.ts"
