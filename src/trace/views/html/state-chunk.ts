/**
 * The objects' bytes of a stretch of a trace, by object: the first state of each whole, the others as what differs from the last whole one. Memory: a limited
 * number of bytes of whole states, twice, and what differs.
 */

import { ByteWriter } from "./byte-writer.ts"
import { AlignedBytes, DeltaFinder } from "./object-delta.ts"

/** Bytes of whole states in a chunk. More of them would cost memory, fewer a whole state of each object more often. */
const MOST_WHOLE = 24 * 1024 * 1024
/** Bytes of whole states and edits. */
const MOST_WRITTEN = 40 * 1024 * 1024
/** Bytes of a piece, which a reader decompresses for one object. */
const PIECE = 1024 * 1024
/** A state whose edits take more than this part of it is written whole: those after it may be more like it. */
const MOST_EDITED = 4

const NO_BASE = -1

/** What a chunk has of one object. */
interface Entry {
  /** The last whole state: where it begins, and its bytes. */
  base: number
  size: number
  /** Its first and its last part of what was written. */
  readonly first: number
  last: number
}

/** What a state differs in at most from the object's last whole one (object-delta.ts); `whole`: it is written whole. */
export type Written = "whole" | DeltaFinder["differ"]

/** A part of what readers decompress at once. */
interface Piece {
  readonly objects: ReadonlyArray<number>
  readonly bytes: Buffer
}

/** Gathers states up to a chunk. */
export class StateChunk {
  readonly #finder = new DeltaFinder()
  readonly #bases = new AlignedBytes(MOST_WHOLE)
  #used = 0
  #later = new AlignedBytes(64 * 1024)
  readonly #written = new ByteWriter(1024 * 1024)
  /** Of each part where it begins and ends, and the next part of the same object. */
  #parts = new Int32Array(3 * 1024)
  #count = 0
  #entries = new Map<number, Entry>()

  /** Whether an object of so many bytes belongs to the next chunk. Any fits into an empty one. */
  isFullFor(size: number): boolean {
    return this.#used > 0 && (this.#used + size + 4 > MOST_WHOLE || this.#written.length + size > MOST_WRITTEN)
  }

  /** The state of an object: two ranges of bytes, between which something was left out. */
  add(object: number, bytes: Uint8Array, skipFrom: number, skipUntil: number): Written {
    const size = bytes.length - (skipUntil - skipFrom)
    if (size > this.#later.bytes.length) this.#later = new AlignedBytes(2 * size)
    const later = this.#later
    later.bytes.set(bytes.subarray(0, skipFrom))
    if (skipUntil < bytes.length) later.bytes.set(bytes.subarray(skipUntil), skipFrom)
    const entry = this.#entries.get(object)
    const begin = this.#written.length
    const edits = entry && this.#writeEdits(entry, size)
    if (edits === undefined) {
      const base = this.#writeWhole(size)
      if (entry === undefined) {
        this.#entries.set(object, { base, size, first: this.#count, last: this.#count })
        this.#part(begin)
        return "whole"
      }
      entry.base = base
      entry.size = size
    }
    if (entry !== undefined) {
      this.#parts[3 * entry.last + 2] = this.#count
      entry.last = this.#count
    }
    this.#part(begin)
    return edits ?? "whole"
  }

  /** The chunk in pieces, objects in order of the numbers that `rankOf` gives them; the next one begins. Bytes are valid until the next piece. */
  *take(rankOf: (object: number) => number): Generator<Piece, void> {
    const order = [...this.#entries.keys()].sort((one, other) => rankOf(one) - rankOf(other) || one - other)
    const out = new ByteWriter(PIECE)
    const own = new ByteWriter(64 * 1024)
    let objects: number[] = []
    for (const object of order) {
      own.clear()
      const written = this.#written.written()
      for (let part = this.#entries.get(object)?.first ?? 0; part >= 0; part = this.#parts[3 * part + 2] ?? -1)
        own.append(written, this.#parts[3 * part] ?? 0, this.#parts[3 * part + 1] ?? 0)
      objects.push(object)
      out.number(own.length)
      out.append(own.written(), 0, own.length)
      if (out.length < PIECE) continue
      yield { objects, bytes: out.written() }
      objects = []
      out.clear()
    }
    if (objects.length > 0) yield { objects, bytes: out.written() }
    this.#entries = new Map()
    this.#written.clear()
    this.#used = 0
    this.#count = 0
  }

  #part(begin: number): void {
    if (3 * this.#count + 3 > this.#parts.length) {
      const larger = new Int32Array(2 * this.#parts.length)
      larger.set(this.#parts)
      this.#parts = larger
    }
    this.#parts[3 * this.#count] = begin
    this.#parts[3 * this.#count + 1] = this.#written.length
    this.#parts[3 * this.#count + 2] = -1
    this.#count++
  }

  /** `undefined`: there is too much, and nothing is written. */
  #writeEdits({ base, size: earlier }: Entry, size: number): Exclude<Written, "whole"> | undefined {
    if (base === NO_BASE) return undefined
    const finder = this.#finder
    finder.find(this.#bases, base, earlier, this.#later, size)
    const bytes = finder.size
    // Where no other whole state fits, edits are as good.
    if (bytes * MOST_EDITED > size && this.#used + size + 4 <= MOST_WHOLE) return undefined
    this.#written.number(finder.edits.length / 4 + 1)
    finder.write(this.#later, this.#written)
    return finder.differ
  }

  #writeWhole(size: number): number {
    const out = this.#written
    out.number(0)
    out.number(size)
    out.append(this.#later.bytes, 0, size)
    // One that is larger than a chunk is compared with nothing.
    const base = this.#used
    if (base + size > MOST_WHOLE) {
      this.#used = MOST_WHOLE
      return NO_BASE
    }
    this.#used = (base + size + 3) & ~3
    this.#bases.bytes.set(this.#later.bytes.subarray(0, size), base)
    return base
  }
}
