/**
 * BLOBs of a **mirror**: a recording with all rows of another one, in which a reference takes the place of each large BLOB, which lies in an object store.
 *
 * This room knows no object stores. Who opens mirrors provides what reads from them, once for each thread.
 */
import { crc32 } from "node:zlib"
import { progressed } from "../../progress.ts"
import { CorruptArchiveError, StoreUnreadableError } from "../directory/archive-errors.ts"

/** Where a BLOB is: a part of an object. */
export interface FarBlob {
  /** Below the address that the mirror is of. */
  readonly key: string
  readonly at: number
  readonly bytes: number
}

/** Reads what the mirrors of this thread refer to. `directory`: that of the mirror. */
export interface BlobSource {
  /** Waits for the bytes; fewer than asked for if the object has no more. @throws StoreUnreadableError */
  read(directory: string, blob: FarBlob): Uint8Array
  /** These are going to be read. Returns at once. */
  expect(directory: string, blobs: ReadonlyArray<FarBlob>): void
}

let source: BlobSource | undefined

/** From now on this thread reads BLOBs of mirrors with it. */
export const provideBlobSource = (given: BlobSource): void => {
  source = given
}

/** No BLOB of a recording begins so: they begin as zstd demands. */
const magic = "reelfar1"

/** References are shorter: a key has some 30 bytes. */
const longestReference = 256

/** What stands for a BLOB: magic, its length in 12 digits, its place in 15, and the key. */
export const referenceTo = ({ key, at, bytes }: FarBlob): Uint8Array =>
  Buffer.from(`${magic}${String(bytes).padStart(12, "0")}${String(at).padStart(15, "0")}${key}`)

/** `undefined`: it is a BLOB. */
export const farBlobIn = (stored: Uint8Array): FarBlob | undefined => {
  if (!(stored instanceof Uint8Array) || stored.length > longestReference) return undefined
  const [, bytes, at, key] = /^reelfar1(\d{12})(\d{15})(.+)$/.exec(Buffer.from(stored).toString()) ?? []
  return key === undefined ? undefined : { key, at: Number(at), bytes: Number(bytes) }
}

/** The size of a BLOB, wherever it is, as SQL. A long one is not read for it. */
export const bytesOfBlob = (column: "toc" | "data"): string =>
  `(CASE WHEN length(${column}) <= ${longestReference} AND CAST(substr(${column}, 1, ${magic.length}) AS TEXT) = '${magic}'
    THEN CAST(CAST(substr(${column}, ${magic.length + 1}, 12) AS TEXT) AS INTEGER) ELSE length(${column}) END)`

/** The BLOB itself. @throws StoreUnreadableError, CorruptArchiveError if what is in the store has another checksum */
export const nearBlob = (directory: string, stored: Uint8Array, checksum: number): Uint8Array => {
  const blob = farBlobIn(stored)
  if (blob === undefined) return stored
  if (source === undefined) {
    const reason = "this program reads no object stores; open the mirror by the address that it is of"
    throw new StoreUnreadableError({ directory, location: blob.key, reason })
  }
  const found = source.read(directory, blob)
  progressed()
  if (found.length === blob.bytes && crc32(found) === checksum) return found
  const what =
    found.length === blob.bytes ? "have another checksum than was recorded" : `are only ${found.length} in the store`
  const reason = `the ${blob.bytes} bytes at ${blob.at} of ${blob.key} ${what}`
  throw new CorruptArchiveError({ directory, reason, isFar: true })
}

/** Has the BLOBs of a mirror fetched that are going to be read. */
export const expectBlobs = (directory: string, stored: ReadonlyArray<Uint8Array>): void => {
  const blobs = stored.flatMap((each) => farBlobIn(each) ?? [])
  if (blobs.length > 0) source?.expect(directory, blobs)
}
