/**
 * The states of objects on disk, compressed, to be read one at a time in any order.
 *
 * States of one kind resemble one another, so they are packed in pieces of some of them and not one by one. Memory: one piece that grows, the last ones that were
 * read, and eight bytes for each piece.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib"
import type { Spool } from "../../../trace/index.ts"

/** bytes of a piece before compression: reading a state unpacks one, which takes less than a ms. */
const pieceBytes = 512 * 1024

/** Unpacked pieces that are kept: a state and the one before it are often in two. */
const keptPieces = 4

/** Where a state is. */
interface StatePlace {
  readonly piece: number
  readonly offset: number
  readonly length: number
}

/** Methods throw SpoolError. Dispose of it to remove the file. */
export class PackedStates implements Disposable {
  readonly #spool: Spool
  /** Where each piece ends in the spool. */
  readonly #ends: number[] = []
  readonly #unpacked = new Map<number, Buffer>()
  #growing: Buffer[] = []
  #growingBytes = 0

  constructor(spool: Spool) {
    this.#spool = spool
  }

  /** Keeps a copy of the bytes. */
  add(bytes: Uint8Array): StatePlace {
    const place = { piece: this.#ends.length, offset: this.#growingBytes, length: bytes.length }
    this.#growing.push(Buffer.from(bytes))
    this.#growingBytes += bytes.length
    if (this.#growingBytes >= pieceBytes) this.#pack()
    return place
  }

  /** The bytes as they were added. They must not be changed. */
  read({ piece, offset, length }: StatePlace): Buffer {
    return this.#pieceAt(piece).subarray(offset, offset + length)
  }

  [Symbol.dispose](): void {
    this.#spool[Symbol.dispose]()
  }

  #pack(): void {
    // The fastest level: a trace must not take longer to open than to read.
    const params = { [constants.ZSTD_c_compressionLevel]: 1 }
    this.#spool.append(zstdCompressSync(Buffer.concat(this.#growing), { params }))
    this.#ends.push(this.#spool.length)
    this.#growing = []
    this.#growingBytes = 0
  }

  #pieceAt(piece: number): Buffer {
    if (piece === this.#ends.length) return Buffer.concat(this.#growing)
    const known = this.#unpacked.get(piece)
    if (known !== undefined) return known
    const [start, end] = [this.#ends[piece - 1] ?? 0, this.#ends[piece] ?? 0]
    const bytes = zstdDecompressSync(this.#spool.copyOf(start, end - start))
    this.#unpacked.set(piece, bytes)
    for (const oldest of this.#unpacked.keys()) {
      if (this.#unpacked.size <= keptPieces) break
      this.#unpacked.delete(oldest)
    }
    return bytes
  }
}
