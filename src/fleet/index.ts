/**
 * Streams: the recordings of clusters in object storage, as numbered segments.
 *
 * Guarantee: the segments of a stream, applied in order, are one recording, whoever wrote each of them. What is damaged, missing or doubled is named. Two recorders
 * never both add the same number.
 */

export { compactStream } from "./compaction/compact-stream.ts"
export {
  afterEvent,
  commandOf,
  describeFenced,
  type FenceCommand,
  type FenceEvent,
  type FenceState,
  isOpening,
  nextNumber,
  openFence,
} from "./fence/fence.ts"
export { ChainLink, decodeTenure, encodeTenure, newTenure, Shipment, startOf, Tenure } from "./fence/tenure.ts"
export {
  isStreamError,
  NewerStreamError,
  NoStreamError,
  SegmentDamagedError,
  StreamBrokenError,
  StreamChangedError,
  type StreamError,
} from "./fleet-errors.ts"
export { threadsFetcher } from "./mirror/blob-fetcher.ts"
export { isStream, Mirror, openMirror } from "./mirror/mirror.ts"
export { cachePlace } from "./mirror/mirror-places.ts"
export { encodeSegment } from "./segment/segment-encoder.ts"
export {
  type EncodedSegment,
  markBehind,
  type SegmentIdentity,
  type StoredSegment,
  type StreamMark,
} from "./segment/segment-facts.ts"
export { readSegmentEnd, segmentKey } from "./segment/segment-reader.ts"
export {
  readStreamStatus,
  STREAMS_AT_ONCE,
  type StreamStatus,
  storeBelow,
  streamsBelow,
} from "./status/stream-status.ts"
export { compactedThrough } from "./stream/manifest.ts"
export { type Restored, restoreStream, takeOverStream } from "./stream/restore-stream.ts"
export { fixShards, hasShards, MOST_SHARDS, ShardsRefused, shardsOf } from "./stream/shards.ts"
export {
  beginStream,
  type CreatingStore,
  readDescription,
  type StreamDescription,
} from "./stream/stream-description.ts"
export { lastSegment, requireConditions } from "./stream/stream-end.ts"
export { StreamReader } from "./stream/stream-reader.ts"
