/**
 * Traces: the events of a recording and the formats in which they leave it (`kubereel/trace`).
 *
 * - NDJSON, complete and lossless: {@link NdjsonWriter}, {@link NdjsonReader}. Choose it to keep, to search, to convert.
 * - SimKube's format, version 2: {@link SimkubeTraceWriter}, {@link SimkubeTraceReader}. Choose it to replay with SimKube.
 * - Any format by its name, to and from one model of items: {@link openDecoder}, {@link openEncoder}, {@link convertTrace}.
 *
 * Every reader takes bytes as they come and throws only its own tagged error; no reader or writer holds a whole trace.
 */

export type * from "./event.ts"
export * from "./exact-json.ts"
export * from "./filtered-view.ts"
export * from "./filters.ts"
export * from "./formats/codecs.ts"
export * from "./formats/compression.ts"
export * from "./formats/compression-names.ts"
export * from "./formats/convert.ts"
export * from "./formats/format.ts"
export * from "./formats/names.ts"
export * from "./formats/replay-object.ts"
export * from "./formats/trace-item.ts"
export * from "./label-selector.ts"
export * from "./message-pack.ts"
export { decodeMessagePack, MessagePackReader } from "./message-pack-reader.ts"
export { encodeMessagePack, MessagePackWriter } from "./message-pack-writer.ts"
export * from "./ndjson.ts"
export { NdjsonReader, readNdjson } from "./ndjson-reader.ts"
export { NdjsonWriter, writeNdjson } from "./ndjson-writer.ts"
export * from "./sanitise.ts"
export * from "./simkube-config.ts"
export * from "./simkube-hash.ts"
export * from "./simkube-trace.ts"
export * from "./simkube-trace-reader.ts"
export * from "./simkube-trace-writer.ts"
export * from "./spool.ts"
