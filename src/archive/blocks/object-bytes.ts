/**
 * The objects of a block: unpacked as a whole, or in pieces of which those are unpacked that are asked for.
 */
import { zstdDecompressSync } from "node:zlib"
import { MalformedFrameError } from "../../wire/observations.ts"
import { unpackMargin } from "./block.ts"

/** Views are valid until {@link ObjectBytes.release}. */
export interface ObjectBytes {
  /** Bytes of memory that it holds now. */
  readonly heldBytes: number
  /** @throws MalformedFrameError, or an error of zlib, if these bytes cannot be unpacked */
  slice(start: number, length: number): Uint8Array
  /** Frees its memory. No views of it are in use any more. */
  release(): void
}

/** Objects that are all unpacked. */
export class WholeObjects implements ObjectBytes {
  readonly #payload: Uint8Array

  constructor(payload: Uint8Array) {
    this.#payload = payload
  }

  get heldBytes(): number {
    return this.#payload.length
  }

  slice(start: number, length: number): Uint8Array {
    return this.#payload.subarray(start, start + length)
  }

  release(): void {
    free(this.#payload)
  }
}

/** Where the pieces of a block are in its BLOB, one after the other. Sizes are bytes. */
export interface PieceDirectory {
  /** With which all of them are compressed; empty: with none. */
  readonly dictionary: Uint8Array
  /** Of each piece. */
  readonly stored: ReadonlyArray<number>
  /** Likewise, before compression. */
  readonly sizes: ReadonlyArray<number>
}

/** Objects in pieces. */
export class PiecedObjects implements ObjectBytes {
  readonly #blob: Uint8Array
  readonly #directory: PieceDirectory
  readonly #pieces: Array<Uint8Array | undefined> = []
  /** By piece, its first byte among the objects, and in the BLOB; one more at the end. */
  readonly #starts: Float64Array
  readonly #places: Float64Array
  #heldBytes: number

  /** @throws MalformedFrameError if the directory is that of another BLOB */
  constructor(blob: Uint8Array, directory: PieceDirectory) {
    this.#blob = blob
    this.#directory = directory
    const { stored, sizes } = directory
    this.#starts = running(sizes)
    this.#places = running(stored)
    this.#heldBytes = blob.length
    const end = this.#places.at(-1)
    if (stored.length !== sizes.length || end !== blob.length)
      throw new MalformedFrameError({ reason: `pieces end at ${end}`, byteLength: blob.length })
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  slice(start: number, length: number): Uint8Array {
    if (length === 0) return this.#blob.subarray(0, 0)
    const piece = this.#pieceAt(start)
    const from = start - (this.#starts[piece] as number)
    return this.#unpacked(piece).subarray(from, from + length)
  }

  release(): void {
    for (const piece of this.#pieces) if (piece !== undefined) free(piece)
  }

  #unpacked(piece: number): Uint8Array {
    const known = this.#pieces[piece]
    if (known !== undefined) return known
    const stored = this.#blob.subarray(this.#places[piece], this.#places[piece + 1])
    const size = this.#directory.sizes[piece] as number
    const { dictionary } = this.#directory
    const unpacked = zstdDecompressSync(stored, {
      ...{ chunkSize: size + unpackMargin, maxOutputLength: Math.max(1, size) },
      ...(dictionary.length > 0 && { dictionary }),
    })
    if (unpacked.length !== size)
      throw new MalformedFrameError({
        reason: `a piece of ${size} bytes has ${unpacked.length}`,
        byteLength: stored.length,
      })
    this.#pieces[piece] = unpacked
    this.#heldBytes += size
    return unpacked
  }

  #pieceAt(start: number): number {
    let low = 0
    let high = this.#directory.sizes.length - 1
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if ((this.#starts[middle] as number) <= start) low = middle
      else high = middle - 1
    }
    return low
  }
}

const running = (lengths: ReadonlyArray<number>): Float64Array => {
  const sums = new Float64Array(lengths.length + 1)
  lengths.forEach((length, index) => {
    sums[index + 1] = (sums[index] as number) + length
  })
  return sums
}

/** Bytes from which on Node certainly allocates separate memory for a Buffer. */
const ownBytes = 128 * 1024

/**
 * Frees the memory at once: otherwise 60 MB of blocks accumulate before V8 collects memory outside of its heap. No views of it are in use
 * any more, because objects are valid only until other blocks are read.
 */
const free = ({ buffer, byteLength }: Uint8Array): void => {
  // A small buffer is part of a shared pool; separate memory exceeds the requested size by the margin that unpacking needs.
  const isOwn = buffer.byteLength >= ownBytes && buffer.byteLength <= byteLength + unpackMargin
  if (isOwn && buffer instanceof ArrayBuffer) buffer.transfer(0)
}
