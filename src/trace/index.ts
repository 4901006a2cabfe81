/**
 * Traces: the events of a recording and the formats for exporting them (`kubereel/trace`).
 *
 * - NDJSON, complete and lossless: {@link NdjsonWriter}, {@link NdjsonReader}. For keeping, searching, converting.
 * - SimKube's format, version 2: {@link SimkubeTraceWriter}, {@link SimkubeTraceReader}. For replaying with SimKube.
 * - Any format by its name, to and from one model of items: {@link openDecoder}, {@link openEncoder}, {@link convertTrace}.
 * - A page that shows what happened, for people: {@link htmlReport}.
 *
 * Every reader takes bytes as they arrive and throws only its own tagged error; no reader or writer holds a whole trace.
 */

export type * from "./event.ts"
export * from "./files/codecs.ts"
export { type HtmlReportOptions, htmlReport } from "./files/html-report.ts"
export * from "./formats/compression.ts"
export * from "./formats/compression-names.ts"
export * from "./formats/convert.ts"
export * from "./formats/decoded-items.ts"
export * from "./formats/format.ts"
export * from "./formats/names.ts"
export * from "./formats/ndjson/ndjson.ts"
export { NdjsonReader, readNdjson } from "./formats/ndjson/ndjson-reader.ts"
export { NdjsonWriter, writeNdjson } from "./formats/ndjson/ndjson-writer.ts"
export * from "./formats/simkube/hash/simkube-hash.ts"
export * from "./formats/simkube/message-pack/message-pack.ts"
export { decodeMessagePack, MessagePackReader } from "./formats/simkube/message-pack/message-pack-reader.ts"
export { encodeMessagePack, MessagePackWriter } from "./formats/simkube/message-pack/message-pack-writer.ts"
export * from "./formats/simkube/simkube-config.ts"
export * from "./formats/simkube/simkube-trace.ts"
export * from "./formats/simkube/simkube-trace-reader.ts"
export * from "./formats/simkube/simkube-trace-writer.ts"
export * from "./json/exact-json.ts"
export * from "./sanitising/replay-object.ts"
export * from "./sanitising/sanitise.ts"
export * from "./selection/filtered-view.ts"
export * from "./selection/filters.ts"
export * from "./spool.ts"
export * from "./trace-item.ts"
export type { HtmlOptions } from "./views/html/html-encoder.ts"
