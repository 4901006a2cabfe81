/** Reads segments: what one says of itself from its end, and its rows. Everything is checked before it is used. */
import { hash } from "node:crypto"
import { crc32, zstdDecompressSync } from "node:zlib"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { blobsOf, type DeltaRow, isOpenPart, referenceTo } from "../../archive/index.ts"
import type { BlobStore } from "../../blob/index.ts"
import { NewerStreamError, SegmentDamagedError } from "../fleet-errors.ts"
import { SEGMENT_FORMAT, type StoredSegment } from "./segment-facts.ts"
import { Footer, type Page, SEGMENT_MAGIC, TAIL_BYTES } from "./segment-footer.ts"

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
  /**
   * Its rows with the places of their BLOBs ({@link referenceTo}), checked by the CRC-32 of pages. BLOBs up to `keptBytes` are kept, and those of parts of the open
   * block, which soon give way to a sealed one, if they came with the end, which is all of most segments.
   *
   * Rejects with an error of the store. The rows throw a SegmentDamagedError.
   */
  readonly rowsAlone: (keptBytes: number, signal?: AbortSignal) => Promise<Iterable<DeltaRow>>
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
    const rowsAlone = (keptBytes: number, later?: AbortSignal) =>
      readRowsAlone(store, key, end, { bytes: found.bytes, keptBytes, signal: later })
    if (found.bytes.length === found.size) {
      const rows = rowsOfWhole(found.bytes, end, location)
      return { ...end, rows: () => Promise.resolve().then(rows), rowsAlone }
    }
    const rows = async (later?: AbortSignal) => {
      const whole = await readWhole(store, key, later)
      return whole?.sha256 === end.sha256 ? whole.rows() : undefined
    }
    return { ...end, rows, rowsAlone }
  }
}

/** `bytes`: the end of the segment. */
const readRowsAlone = async (
  store: SegmentStore,
  key: string,
  { footer, bytes: size }: SegmentEnd,
  { bytes, keptBytes, signal }: { bytes: Uint8Array; keptBytes: number; signal: AbortSignal | undefined },
): Promise<Iterable<DeltaRow>> => {
  const location = locationOf(store, key)
  const from = size - bytes.length
  const first = Math.min(from, ...footer.pages.map(({ at }) => at))
  const before = first < from ? await store.read(key, { from: first, until: from }, signal) : undefined
  const all = before === undefined ? bytes : Buffer.concat([before.bytes, bytes])
  const part = (at: number, length: number): Uint8Array => all.subarray(at - first, at - first + length)
  const pageOf = ({ table, at, bytes: length, checksum }: Page): Uint8Array => {
    const page = part(at, length)
    if (crc32(page) !== checksum) throw damaged(location, `a page of ${table} has another checksum`)
    return page
  }
  const blobOf = (row: TableValues, at: number, length: number): Uint8Array =>
    at >= first && (length <= keptBytes || isOpenPart(row)) ? part(at, length) : referenceTo({ key, at, bytes: length })
  return rowsIn(footer, location, pageOf, blobOf)
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
    const part = (at: number, length: number): Uint8Array => body.subarray(at, at + length)
    const pageOf = ({ at, bytes: length }: Page): Uint8Array => part(at, length)
    return rowsIn(footer, location, pageOf, (_, at, length) => part(at, length))
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
