/** The end of a segment: what it says of itself, and where its rows are. */
import * as Schema from "effect/Schema"
import { shippedTables } from "../../archive/index.ts"
import { SegmentFacts } from "./segment-facts.ts"

/** Rows of one table, compressed together. */
const Page = Schema.Struct({
  table: Schema.Literals(shippedTables),
  rows: Schema.Number,
  at: Schema.Number,
  bytes: Schema.Number,
  /** CRC-32 of these bytes. */
  checksum: Schema.Number,
})
export type Page = typeof Page.Type

export const Footer = Schema.fromJsonString(
  Schema.Struct({
    facts: SegmentFacts,
    pages: Schema.Array(Page),
    /** Hexadecimal: of all bytes before the footer. */
    bodySha256: Schema.String,
  }),
)
export type Footer = typeof Footer.Type

/** At both ends of a segment. */
export const SEGMENT_MAGIC: Buffer = Buffer.from("reelseg1")

/** Behind the footer: its length and its CRC-32, 4 bytes each, little-endian, and {@link SEGMENT_MAGIC}. */
export const TAIL_BYTES = 16
