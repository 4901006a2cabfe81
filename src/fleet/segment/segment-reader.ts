/** Reads segments: what one says of itself from its end, and its rows. Everything is checked before it is used. */
import { hash } from "node:crypto"
import { crc32, zstdDecompressSync } from "node:zlib"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { blobsOf, type DeltaRow, isOpenPart, referenceTo } from "../../archive/index.ts"
import type { BlobStore } from "../../blob/index.ts"
import { NewerStreamError, SegmentDamagedError } from "../fleet-errors.ts"
import { Footer, type Page, SEGMENT_FORMAT, SEGMENT_MAGIC, type StoredSegment, TAIL_BYTES } from "./segment-facts.ts"

/** What is needed of a store to read one. */
export type SegmentStore = Pick<BlobStore, "location" | "read">

/** The address of an object, for messages. */
export const locationOf = ({ location }: Pick<BlobStore, "location">, key: string): string =>
  `${location.replace(/\/$/, "")}/${key}`

/** With the number in twelve digits, so that a list is in order. */
export const segmentKey = (number: number): string => `segments/${String(number).padStart(12, "0")}.segment`

/** The end of a segment that is asked for first: the footer of one with 1,000 kinds has 40 KB, and with it come the rows of a small one. */
const endBytes = 256 * 1024

/** A segment with the places of its rows. */
interface SegmentEnd extends StoredSegment {
  readonly footer: Footer
}

/**
 * What a segment says of itself; `undefined`: there is no such segment.
 *
 * Rejects with SegmentDamagedError, NewerStreamError, or an error of the store.
 */
export const readSegmentEnd = async (
  store: SegmentStore,
  number: number,
  signal?: AbortSignal,
): Promise<SegmentEnd | undefined> => {
  return (await readEnd(store, number, signal))?.end
}

/** That, and the bytes that came with it: from `from` on, all up to the end of the segment. */
const readEnd = async (
  store: SegmentStore,
  number: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly end: SegmentEnd; readonly bytes: Uint8Array; readonly from: number } | undefined> => {
  const key = segmentKey(number)
  const location = locationOf(store, key)
  for (let last = endBytes; ; ) {
    const found = await store.read(key, { last }, signal)
    if (found === undefined) return undefined
    const { bytes, size } = found
    const needed = bytesOfEnd(bytes, location)
    if (needed <= bytes.length) return { end: segmentEnd(bytes, size, location), bytes, from: size - bytes.length }
    if (bytes.length === size) throw damaged(location, "it is shorter than its footer says")
    last = needed
  }
}

/**
 * A segment without its BLOBs, of which rows have the places ({@link referenceTo}); `undefined`: there is none. Those up to `keptBytes` are kept, and those of parts of
 * the open block, which soon give way to a sealed one, if they came with the rows: the end of a segment that is read is all of most.
 *
 * Rejects as {@link readSegmentEnd} does. The rows throw a SegmentDamagedError.
 */
export const readSegmentRows = async (
  store: SegmentStore,
  number: number,
  keptBytes: number,
  signal?: AbortSignal,
): Promise<(SegmentEnd & { readonly rows: Iterable<DeltaRow> }) | undefined> => {
  const found = await readEnd(store, number, signal)
  if (found === undefined) return undefined
  const { end } = found
  const key = segmentKey(number)
  const location = locationOf(store, key)
  const first = Math.min(found.from, ...end.footer.pages.map(({ at }) => at))
  const before = first < found.from ? await store.read(key, { from: first, until: found.from }, signal) : undefined
  const bytes = before === undefined ? found.bytes : Buffer.concat([before.bytes, found.bytes])
  const part = (from: number, length: number): Uint8Array => bytes.subarray(from - first, from - first + length)
  const pageOf = ({ table, at, bytes: length, checksum }: Page): Uint8Array => {
    const page = part(at, length)
    if (crc32(page) !== checksum) throw damaged(location, `a page of ${table} has another checksum`)
    return page
  }
  const blobOf = (row: TableValues, at: number, length: number): Uint8Array => {
    const isHere = at >= first && (length <= keptBytes || isOpenPart(row))
    // With memory of its own, not that of the whole end.
    return isHere ? Uint8Array.from(part(at, length)) : referenceTo({ key, at, bytes: length })
  }
  return { ...end, rows: rowsIn(end.footer, location, pageOf, blobOf) }
}

/** A whole segment, with its bytes; `undefined`: there is none. Rejects as {@link readSegmentEnd} does. */
export const readSegment = async (
  store: SegmentStore,
  number: number,
  signal?: AbortSignal,
): Promise<(SegmentEnd & { readonly rows: Iterable<DeltaRow> }) | undefined> => {
  const key = segmentKey(number)
  const location = locationOf(store, key)
  const found = await store.read(key, undefined, signal)
  if (found === undefined) return undefined
  const { bytes } = found
  if (bytesOfEnd(bytes, location) > bytes.length) throw damaged(location, "it is shorter than its footer says")
  const end = segmentEnd(bytes, found.size, location)
  const body = bytes.subarray(0, bytes.length - bytesOfEnd(bytes, location))
  if (hash("sha256", body) !== end.footer.bodySha256) throw damaged(location, "its content has another hash")
  const part = (at: number, length: number): Uint8Array => body.subarray(at, at + length)
  const pageOf = ({ at, bytes: length }: Page): Uint8Array => part(at, length)
  return { ...end, rows: rowsIn(end.footer, location, pageOf, (_, at, length) => part(at, length)) }
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

type TableValues = Pick<DeltaRow, "table" | "values">

/** In the order in which they are applied. Memory is one page. */
function* rowsIn(
  { pages }: Footer,
  location: string,
  pageOf: (page: Page) => Uint8Array,
  blobOf: (row: TableValues, at: number, length: number) => Uint8Array,
): Generator<DeltaRow, void, void> {
  for (const page of pages) {
    const { table, rows } = page
    const lines = zstdDecompressSync(pageOf(page)).toString("utf8").split("\n").slice(0, -1)
    if (lines.length !== rows) throw damaged(location, `a page of ${table} has ${lines.length} rows instead of ${rows}`)
    const blobs = blobsOf(table).length
    for (const line of lines) {
      const all = decodeValues(line)
      const values = all.slice(0, all.length - 2 * blobs)
      const places = all.slice(all.length - 2 * blobs).map(Number)
      yield {
        ...{ table, values },
        blobs: Array.from({ length: blobs }, (_, index) => {
          const [at = 0, length = 0] = places.slice(2 * index)
          return blobOf({ table, values }, at, length)
        }),
      }
    }
  }
}
