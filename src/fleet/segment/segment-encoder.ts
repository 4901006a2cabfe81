/**
 * Writes a segment. docs/reference/stream-format.md describes the bytes.
 *
 * Memory: the segment, which is as large as the limit and one block, and 256 KiB of text for each table.
 */
import { createHash, hash } from "node:crypto"
import { crc32, zstdCompressSync } from "node:zlib"
import {
  type DeltaReader,
  type DeltaRow,
  type Position,
  type ShippedTable,
  shippedTables,
} from "../../archive/index.ts"
import {
  type EncodedSegment,
  markBehind,
  SEGMENT_FORMAT,
  type SegmentFacts,
  type SegmentIdentity,
  type StoredSegment,
} from "./segment-facts.ts"
import { type Footer, type Page, SEGMENT_MAGIC, TAIL_BYTES } from "./segment-footer.ts"

/** Bytes of a segment at which it is cut: requests of this size need no parts, and what is sent again after an error is little. */
const SEGMENT_BYTES = 16 * 1024 * 1024

const partBytes = 8 * 1024 * 1024

/** Characters of rows that are compressed together. */
const pageCharacters = 256 * 1024

/**
 * The next segment of a recording, with what came after a position. `facts.isWhole` is false if there was more than the limit: the next one
 * continues from `facts.position`.
 *
 * @throws what {@link DeltaReader.read} throws
 */
export const encodeSegment = (
  reader: Pick<DeltaReader, "read">,
  position: Position,
  identity: SegmentIdentity,
  maximumBytes: number = SEGMENT_BYTES,
): EncodedSegment => {
  const body = new SegmentBody()
  const { rows, ...delta } = reader.read(position, (row) => body.take(row), maximumBytes)
  const times = delta.kinds.filter(({ events }) => events > 0)
  const facts: SegmentFacts = {
    ...{ ...identity, ...delta },
    format: SEGMENT_FORMAT,
    fromTime: times.length === 0 ? 0 : Math.min(...times.map(({ fromTime }) => fromTime)),
    toTime: Math.max(0, ...times.map(({ toTime }) => toTime)),
  }
  return { ...body.finish(() => facts), rows }
}

/** A segment that is to be created, of rows that were chosen. */
export type EncodedPart = Omit<EncodedSegment, "rows">

/** Tables of which only the last part may have rows: a whole segment begins with emptying one of them. */
const lastTables: ReadonlySet<ShippedTable> = new Set(["kind", "kind_namespace", "metadata"])

/**
 * Segments of all these rows, in their order, each cut after so many bytes and a row. `factsOf` is asked once for each, from 0 on, with the hash of its body
 * before the footer. Memory: one segment.
 *
 * @throws what `rows` and `factsOf` throw
 */
export function* encodeParts(
  rows: Iterable<DeltaRow>,
  factsOf: (part: number, isLast: boolean, bodySha256: string) => SegmentFacts,
  mostParts: number,
  maximumBytes: number = SEGMENT_BYTES,
): Generator<EncodedPart, void, void> {
  let [body, part, isFull] = [new SegmentBody(), 0, false]
  for (const row of rows) {
    if (isFull && part + 1 < mostParts && !lastTables.has(row.table)) {
      yield body.finish((sha256) => factsOf(part, false, sha256))
      body = new SegmentBody()
      part++
    }
    isFull = body.take(row) >= maximumBytes
  }
  yield body.finish((sha256) => factsOf(part, true, sha256))
}

/**
 * The segment that opens the next epoch behind the last one of a stream, whose position is that of its last whole one: a part without rows, so that it is
 * nothing by itself.
 */
export const encodeOpening = (last: StoredSegment, position: Position, owner: string): EncodedSegment => {
  const { stream, clusterUid, recordingFormat } = last.facts
  const { number, epoch, sha256 } = markBehind(last)
  const nothing = { recordingFormat, after: position.sequence, through: position.sequence, isWhole: false, rows: 0 }
  return encodeSegment({ read: () => ({ ...nothing, position, kinds: [] }) }, position, {
    ...{ stream, clusterUid, number: number + 1, epoch: epoch + 1, owner, previous: sha256 },
  })
}

/** Rows of one table that wait for their page to be full. */
interface OpenPage {
  text: string
  rows: number
}

/** What is before the footer: BLOBs as they come, then the pages. */
export class SegmentBody {
  readonly #parts: Uint8Array[] = []
  readonly #hash = createHash("sha256")
  readonly #open = new Map<ShippedTable, OpenPage>()
  readonly #pages: Array<Omit<Page, "at" | "bytes"> & { readonly content: Uint8Array }> = []
  #part = Buffer.alloc(partBytes)
  /** Of the part. */
  #used = 0
  #pageBytes = 0
  #bytes = 0

  constructor() {
    this.#append(SEGMENT_MAGIC)
  }

  /** Returns the bytes so far; pages that are not full do not count. */
  take({ table, values, blobs }: DeltaRow): number {
    const places = blobs.flatMap((blob) => {
      const at = this.#bytes
      this.#append(blob)
      return [at, blob.length]
    })
    const page = this.#open.get(table) ?? { text: "", rows: 0 }
    this.#open.set(table, page)
    page.text += `${JSON.stringify([...values, ...places])}\n`
    page.rows++
    if (page.text.length >= pageCharacters) this.#close(table, page)
    return this.#bytes + this.#pageBytes
  }

  /** Writes the pages, the footer and the tail. `factsOf` takes the hash of what is before the footer. */
  finish(factsOf: (bodySha256: string) => SegmentFacts): EncodedPart {
    const pages = this.#writePages()
    const bodySha256 = this.#hash.copy().digest("hex")
    const facts = factsOf(bodySha256)
    const footer = zstdCompressSync(JSON.stringify({ facts, pages, bodySha256 } satisfies Footer))
    const tail = Buffer.alloc(TAIL_BYTES)
    tail.writeUInt32LE(footer.length, 0)
    tail.writeUInt32LE(crc32(footer), 4)
    tail.set(SEGMENT_MAGIC, 8)
    this.#append(footer)
    this.#append(tail)
    return { facts, sha256: hash("sha256", footer), bytes: this.#bytes, parts: this.#parts }
  }

  /** Behind the BLOBs, in the order in which they are applied. */
  #writePages(): ReadonlyArray<Page> {
    for (const [table, page] of this.#open) this.#close(table, page)
    const order = (page: Pick<Page, "table">): number => shippedTables.indexOf(page.table)
    return this.#pages
      .sort((one, other) => order(one) - order(other))
      .map(({ content, ...page }) => {
        const at = this.#bytes
        this.#append(content)
        return { ...page, at, bytes: content.length }
      })
  }

  #append(bytes: Uint8Array): void {
    this.#hash.update(bytes)
    for (let from = 0; from < bytes.length; ) {
      if (this.#used === this.#part.length) {
        this.#part = Buffer.alloc(partBytes)
        this.#used = 0
      }
      const taken = bytes.subarray(from, from + this.#part.length - this.#used)
      this.#part.set(taken, this.#used)
      this.#used += taken.length
      from += taken.length
      const isNew = this.#used === taken.length
      this.#parts.splice(isNew ? this.#parts.length : -1, isNew ? 0 : 1, this.#part.subarray(0, this.#used))
    }
    this.#bytes += bytes.length
  }

  #close(table: ShippedTable, { text, rows }: OpenPage): void {
    const content = zstdCompressSync(text)
    this.#pages.push({ table, rows, content, checksum: crc32(content) })
    this.#pageBytes += content.length
    this.#open.delete(table)
  }
}
