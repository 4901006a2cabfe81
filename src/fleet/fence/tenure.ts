/** What a recording keeps of its place in a stream: plain data, which is sent between threads and kept as JSON. */
import * as Schema from "effect/Schema"
import { SegmentFacts } from "../segment/segment-facts.ts"

/** A segment of a stream, as far as its successor depends on it. */
export const ChainLink = Schema.Struct({
  number: Schema.Number,
  epoch: Schema.Number,
  /** Of the tenure that wrote it. */
  owner: Schema.String,
  /** Identifies the segment. */
  sha256: Schema.String,
})
export type ChainLink = typeof ChainLink.Type

/** A segment with up to where it takes the recording that it was made of. */
export const Shipment = Schema.Struct({
  ...ChainLink.fields,
  /** False: it is a part, which counts only with the segments of its epoch up to the next whole one. */
  isWhole: Schema.Boolean,
  /** Where the next segment begins. */
  position: SegmentFacts.fields.position,
  /** Retention and merging leave blocks alone that end after this sequence number: with the whole segments up to this one, the stream has the others for good. */
  heldAfter: Schema.Number,
})
export type Shipment = typeof Shipment.Type

/** What a recording knows of its place in a stream; kept in it, and changed by nobody else. */
export const Tenure = Schema.Struct({
  /** Of the stream: a directory is at home in one. */
  stream: Schema.String,
  /** 128 random bits, hexadecimal. */
  owner: Schema.String,
  epoch: Schema.Number,
  /** The last segment that is certain; absent: the stream is empty. */
  shipped: Schema.optional(Shipment),
  /** What was built for the next number, and may have been created: the last one, and those of lives before. */
  intents: Schema.Array(Shipment),
})
export type Tenure = typeof Tenure.Type

const TenureText = Schema.fromJsonString(Tenure)

/** As it is kept in a recording. */
export const encodeTenure = Schema.encodeSync(TenureText)

/** `undefined`: there is none. @throws SchemaError for another text */
export const decodeTenure = (text: string): Tenure | undefined =>
  text === "" ? undefined : Schema.decodeSync(TenureText)(text)
