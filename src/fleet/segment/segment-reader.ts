/** Reads segments: what one says of itself from its end, and its rows. Everything is checked before it is used. */
import { hash } from "node:crypto"
import { crc32, zstdDecompressSync } from "node:zlib"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { blobsOf, type DeltaRow } from "../../archive/index.ts"
import type { BlobStore } from "../../blob/index.ts"
import { NewerStreamError, SegmentDamagedError } from "../fleet-errors.ts"
import { Footer, SEGMENT_FORMAT, SEGMENT_MAGIC, type StoredSegment, TAIL_BYTES } from "./segment-facts.ts"

/** What is needed of a store to read one. */
export type SegmentStore = Pick<BlobStore, "location" | "read">

/** The address of an object, for messages. */
export const locationOf = ({ location }: Pick<BlobStore, "location">, key: string): string =>
  `${location.replace(/\/$/, "")}/${key}`

/** With the number in twelve digits, so that a list is in order. */
export const segmentKey = (number: number): string => `segments/${digits(number)}.segment`

/** Prefix of objects that replace segments. */
export const COMPACTED = "compacted/"

/** Key of the object that replaces some segments, by the numbers of the first and the last. `id`: of whoever writes it, another one each time. */
export const compactedKey = (from: number, through: number, id: string): string =>
  `${COMPACTED}${digits(from)}-${digits(through)}-${id}.segment`

const digits = (number: number): string => String(number).padStart(12, "0")

/** The end of a segment that is asked for first: the footer of one with 1,000 kinds has 40 KB, and with it come the rows of a small one. */
const endBytes = 256 * 1024

/** A segment with the places of its rows. */
interface SegmentEnd extends StoredSegment {
  readonly footer: Footer
}

/** A segment whose rows can be read. */
export interface ReadableSegment extends SegmentEnd {
  /**
   * Its rows, checked by the hash of its body: read now, unless the whole segment came with its end. `undefined`: it is gone, or replaced by another.
   *
   * Rejects with SegmentDamagedError, or an error of the store.
   */
  readonly rows: (signal?: AbortSignal) => Promise<Iterable<DeltaRow> | undefined>
}

/**
 * What a segment says of itself; `undefined`: there is no such segment.
 *
 * Rejects with SegmentDamagedError, NewerStreamError, or an error of the store.
 */
export const readSegmentEnd = (
  store: SegmentStore,
  number: number,
  signal?: AbortSignal,
): Promise<ReadableSegment | undefined> => openSegment(store, segmentKey(number), signal)

/** The same by key, also of a compacted one. Memory: 256 KiB at most. */
export const openSegment = async (
  store: SegmentStore,
  key: string,
  signal?: AbortSignal,
): Promise<ReadableSegment | undefined> => {
  const location = locationOf(store, key)
  for (let last = endBytes; ; ) {
    const found = await store.read(key, { last }, signal)
    if (found === undefined) return undefined
    const needed = bytesOfEnd(found.bytes, location)
    if (needed > found.bytes.length) {
      if (found.bytes.length === found.size) throw damaged(location, "it is shorter than its footer says")
      last = needed
      continue
    }
    const end = segmentEnd(found.bytes, found.size, location)
    if (found.bytes.length === found.size) {
      const rows = rowsOfWhole(found.bytes, end, location)
      return { ...end, rows: () => Promise.resolve().then(rows) }
    }
    const rows = async (later?: AbortSignal) => {
      const whole = await readWhole(store, key, later)
      return whole?.sha256 === end.sha256 ? whole.rows() : undefined
    }
    return { ...end, rows }
  }
}

const readWhole = async (store: SegmentStore, key: string, signal: AbortSignal | undefined) => {
  const location = locationOf(store, key)
  const found = await store.read(key, undefined, signal)
  if (found === undefined) return undefined
  if (bytesOfEnd(found.bytes, location) > found.bytes.length)
    throw damaged(location, "it is shorter than its footer says")
  const end = segmentEnd(found.bytes, found.size, location)
  return { ...end, rows: rowsOfWhole(found.bytes, end, location) }
}

const rowsOfWhole =
  (bytes: Uint8Array, { footer }: SegmentEnd, location: string) =>
  (): Iterable<DeltaRow> => {
    const body = bytes.subarray(0, bytes.length - bytesOfEnd(bytes, location))
    if (hash("sha256", body) !== footer.bodySha256) throw damaged(location, "its content has another hash")
    return rowsIn(body, footer, location)
  }

const damaged = (location: string, reason: string): SegmentDamagedError => new SegmentDamagedError({ location, reason })

/** Bytes of the footer and what follows it. */
const bytesOfEnd = (bytes: Uint8Array, location: string): number => {
  const tail = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).subarray(-TAIL_BYTES)
  if (tail.length < TAIL_BYTES || !tail.subarray(8).equals(SEGMENT_MAGIC))
    throw damaged(location, "its end is not that of a segment")
  return tail.readUInt32LE(0) + TAIL_BYTES
}

const segmentEnd = (bytes: Uint8Array, size: number, location: string): SegmentEnd => {
  const end = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).subarray(-bytesOfEnd(bytes, location))
  const content = end.subarray(0, -TAIL_BYTES)
  if (crc32(content) !== end.readUInt32LE(content.length + 4))
    throw damaged(location, "its footer has another checksum")
  const text = zstdDecompressSync(content).toString("utf8")
  const footer = Schema.decodeUnknownResult(Footer)(text)
  if (Result.isSuccess(footer))
    return { facts: footer.success.facts, footer: footer.success, sha256: hash("sha256", content), bytes: size }
  const format = Schema.decodeUnknownResult(FormatOnly)(text)
  if (Result.isSuccess(format) && format.success.facts.format > SEGMENT_FORMAT)
    throw new NewerStreamError({ location, found: format.success.facts.format, supported: SEGMENT_FORMAT })
  throw damaged(location, "its footer is not what this version writes")
}

const FormatOnly = Schema.fromJsonString(Schema.Struct({ facts: Schema.Struct({ format: Schema.Number }) }))

const Values = Schema.fromJsonString(Schema.Array(Schema.NullOr(Schema.Union([Schema.String, Schema.Number]))))
const decodeValues = Schema.decodeUnknownSync(Values)

/** In the order in which they are applied. Memory is one page. */
function* rowsIn(body: Uint8Array, { pages }: Footer, location: string): Generator<DeltaRow, void, void> {
  for (const { table, rows, at, bytes } of pages) {
    const lines = zstdDecompressSync(body.subarray(at, at + bytes))
      .toString("utf8")
      .split("\n")
      .slice(0, -1)
    if (lines.length !== rows) throw damaged(location, `a page of ${table} has ${lines.length} rows instead of ${rows}`)
    const blobs = blobsOf(table).length
    for (const line of lines) {
      const values = decodeValues(line)
      const places = values.slice(values.length - 2 * blobs).map(Number)
      yield {
        ...{ table, values: values.slice(0, values.length - 2 * blobs) },
        blobs: Array.from({ length: blobs }, (_, index) => {
          const [from = 0, length = 0] = places.slice(2 * index)
          return body.subarray(from, from + length)
        }),
      }
    }
  }
}
