/**
 * Streams: the recordings of clusters in object storage, as numbered segments.
 *
 * Guarantee: the segments of a stream, applied in order, are one recording, whoever wrote each of them. What is damaged, missing or doubled is named.
 */

export {
  afterEvent,
  type ChainLink,
  commandOf,
  describeFenced,
  type Fenced,
  type FenceEvent,
  type FenceState,
  nextNumber,
  openFence,
  type Shipment,
  type Tenure,
} from "./fence/fence.ts"
export { type FoundDirectory, type FoundStream, newTenure, type Start, startOf } from "./fence/take-over.ts"
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
export {
  beginStream,
  type CreatingStore,
  readDescription,
  type Stream,
  type StreamDescription,
  StreamReader,
  type StreamStore,
} from "./stream/stream-reader.ts"
