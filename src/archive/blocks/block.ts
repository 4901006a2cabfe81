/**
 * Blocks: frames gathered to about 1 MiB of objects, compressed, each with its own table of contents.
 *
 * The table of contents contains each frame's columns exactly as they arrived, so that building it costs a copy; the objects are
 * concatenated. Both are zstd level 1 with the default window: on Deployment changes of 2.7 kB level 3 took 2 to 23 % more CPU for 6 %
 * fewer bytes, a window of 128 KiB costs 25 % more bytes, a larger one brings nothing inside 1 MiB (`bench/studies/archive.ts` prints the
 * table).
 *
 * Reading is total: an invalid BLOB fails with MalformedFrameError or an error of zlib, which the archive's reader reports as damage.
 */

import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"
import { decodeColumns, MalformedFrameError } from "../../wire/index.ts"
import { ArrivedFrame, type TimeFloors } from "./block-frame.ts"

/** Bytes of objects and columns after which a block is sealed (docs/reference/architecture.md#archive). */
export const BLOCK_BYTES = 1024 * 1024

/**
 * Size of the table of contents at which a block is sealed regardless: 9,000 events without objects. Bounds what a reader must load to find
 * a position.
 */
export const TABLE_BYTES = 256 * 1024

/** The part of one kind in a block. Times are µs since the Unix epoch. */
export interface KindRange {
  minTime: number
  maxTime: number
  /** When the last event was received. */
  maxReceived: number
  events: number
  /** Of objects and columns, before compression. */
  bytes: number
}

/** The facts about a block that are stored beside it. */
export interface BlockSummary {
  readonly firstSequence: number
  readonly lastSequence: number
  readonly minTime: number
  readonly maxTime: number
  readonly events: number
  /** By the archive's own number of the kind. */
  readonly kinds: ReadonlyMap<number, Readonly<KindRange>>
}

/** A block ready to be stored. */
export interface PackedBlock {
  readonly summary: BlockSummary
  readonly toc: Packed
  readonly data: Packed
}

/** A BLOB with the two columns that are needed to read it. */
export interface Packed {
  readonly bytes: Uint8Array
  /** Bytes before compression. */
  readonly size: number
  /** CRC-32 of the compressed bytes. zstd's own checksum covers the uncompressed bytes: 0.2 µs an event instead of 0.02. */
  readonly checksum: number
}

const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 }

/** Output is gathered in pieces of this size and joined: most blocks and every table fit into one. */
const PIECE_BYTES = 64 * 1024

/** zstd with the settings of all BLOBs of a recording, unless others are given. The input may be reused afterwards. */
export const pack = (content: Uint8Array, params: Readonly<Record<number, number>> = LEVEL): Packed => {
  const bytes = zstdCompressSync(content, { params, chunkSize: Math.min(PIECE_BYTES, content.length + 64) })
  return { bytes, size: content.length, checksum: crc32(bytes) }
}

/** Like {@link pack}, with a frame that zstd skips before it, which `size` does not count. */
export const packBehind = (
  skipped: Uint8Array,
  content: Uint8Array,
  params: Readonly<Record<number, number>>,
): Packed => {
  const bytes = Buffer.concat([skipped, pack(content, params).bytes])
  return { bytes, size: content.length, checksum: crc32(bytes) }
}

/** Extra bytes in the memory of unpacked content: zstd needs room to detect that there is no more. */
export const unpackMargin = 64

/**
 * The inverse of {@link pack}. The result has its own memory, {@link unpackMargin} larger than needed, unless it is small. @throws
 * MalformedFrameError or an error of zlib if the bytes were damaged.
 */
export const unpack = ({ bytes, size, checksum }: Packed): Buffer => {
  requireChecksum(bytes, checksum)
  return unpackChecked(bytes, size)
}

/** The same for bytes whose checksum was found to be right, or that are a part of such. @throws an error of zlib */
export const unpackChecked = (bytes: Uint8Array, size: number): Buffer =>
  zstdDecompressSync(bytes, { chunkSize: size + unpackMargin, maxOutputLength: Math.max(1, size) })

/** @throws MalformedFrameError if the compressed bytes are not those of which the checksum was computed */
export const requireChecksum = (bytes: Uint8Array, checksum: number): void => {
  // One bit of a row's header makes a number of a BLOB.
  if (!(bytes instanceof Uint8Array)) throw new MalformedFrameError({ reason: "not a BLOB", byteLength: 0 })
  const found = crc32(bytes)
  if (found !== checksum) {
    throw new MalformedFrameError({ reason: `checksum ${found} instead of ${checksum}`, byteLength: bytes.length })
  }
}

/** Tags of `TableOfContents` and `TableEntry` in proto/archive.proto. */
const ENTRY_TAG = (1 << 3) | 2
const FIRST_SEQUENCE_TAG = (1 << 3) | 1
const PAYLOAD_LENGTH_TAG = (2 << 3) | 0
const TIME_FLOOR_TAG = (3 << 3) | 1
const COLUMNS_TAG = (4 << 3) | 2
const RECEIVED_FLOOR_TAG = (5 << 3) | 1

/** Appends one frame to a table of contents. Concatenated tables are one table. */
export const writeTableEntry = (
  table: protobuf.Writer,
  firstSequence: number,
  payloadLength: number,
  { timeFloor, receivedFloor }: TimeFloors,
  columns: Uint8Array,
): void => {
  table.uint32(ENTRY_TAG).fork()
  table.uint32(FIRST_SEQUENCE_TAG).double(firstSequence)
  if (payloadLength > 0) table.uint32(PAYLOAD_LENGTH_TAG).uint32(payloadLength)
  if (timeFloor > 0) table.uint32(TIME_FLOOR_TAG).double(timeFloor)
  if (receivedFloor > 0) table.uint32(RECEIVED_FLOOR_TAG).double(receivedFloor)
  table.uint32(COLUMNS_TAG).bytes(columns)
  table.ldelim()
}

/** Reads a table of contents. @throws MalformedFrameError */
export const readTable = (table: Uint8Array): ReadonlyArray<ArrivedFrame> => {
  const bytes = Buffer.from(table.buffer, table.byteOffset, table.byteLength)
  const reader = protobuf.Reader.create(bytes)
  const frames: Array<ArrivedFrame> = []
  let payloadStart = 0
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32()
      if (tag !== ENTRY_TAG) throw new RangeError(`an entry with tag ${tag}`)
      const end = reader.uint32() + reader.pos
      let firstSequence = 0
      let payloadLength = 0
      let timeFloor = 0
      let receivedFloor = 0
      let columns = bytes.subarray(0, 0)
      while (reader.pos < end) {
        const field = reader.uint32()
        if (field === FIRST_SEQUENCE_TAG) firstSequence = reader.double()
        else if (field === PAYLOAD_LENGTH_TAG) payloadLength = reader.uint32()
        else if (field === TIME_FLOOR_TAG) timeFloor = reader.double()
        else if (field === RECEIVED_FLOOR_TAG) receivedFloor = reader.double()
        else if (field === COLUMNS_TAG) {
          const length = reader.uint32()
          columns = bytes.subarray(reader.pos, reader.pos + length)
          reader.skip(length)
        } else reader.skipType(field & 7)
      }
      const floors = { timeFloor, receivedFloor }
      frames.push(new ArrivedFrame(firstSequence, payloadStart, floors, decodeColumns(columns, payloadLength)))
      payloadStart += payloadLength
    }
  } catch (error) {
    if (error instanceof MalformedFrameError) throw error
    throw new MalformedFrameError({
      reason: `table of contents: ${messageOf(error)}`,
      byteLength: table.length,
    })
  }
  return frames
}

/** Compresses the gathered bytes. The views may be reused afterwards. */
export const packBlock = (summary: BlockSummary, table: Uint8Array, payload: Uint8Array): PackedBlock => ({
  summary,
  toc: pack(table),
  data: pack(payload),
})
