/**
 * Shared memory that a sender writes its frames into, so that a receiver copies nothing, and the memory is reused instead of collected: a frame stays with
 * its sender until it is acknowledged.
 *
 * Frames are packed in order into slabs of about 256 KiB; a slab is free again when its last frame is acknowledged. A larger frame gets a slab of its own,
 * which is released then. A slab being written to is held, so that an acknowledgement meanwhile does not reset it. The limit on unacknowledged bytes bounds
 * the pool.
 */
import { envelopeBytes } from "./envelope.ts"

/**
 * Bytes of an ordinary slab: the largest ordinary payload (256 KiB) plus the envelopes of sixteen of the smallest, so that ordinary frames
 * fill it without a remainder. Untouched pages cost nothing.
 */
export const slabBytes = 256 * 1024 + 16 * envelopeBytes

/**
 * Free slabs kept for reuse; any beyond that are released. A mailbox needs at most 96 (8 MiB window, 16 MiB buffer). Released shared memory
 * is freed only after the collectors of both threads have run, and threads that produce no garbage are rarely collected: with 4 kept, a
 * recorder at full speed grew from 190 to 440 MB.
 */
const keptFree = 96

export interface Slab {
  readonly id: number
  readonly memory: SharedArrayBuffer
  readonly bytes: Buffer
  /** Its unacknowledged frames plus its writers' holds. */
  pending: number
  /** Where the next frame starts. */
  used: number
}

export class SlabPool {
  #nextId = 1
  #current: Slab | undefined
  readonly #free: Array<Slab> = []
  readonly #released: (slab: Slab) => void

  /** `released` is called with each slab that is released, so that receivers can forget it. */
  constructor(released: (slab: Slab) => void) {
    this.#released = released
  }

  /** A slab with at least `needed` bytes after its `used` mark. Call nothing else until it is occupied. */
  withRoom(needed: number): Slab {
    const current = this.#current
    if (current !== undefined && current.memory.byteLength - current.used >= needed) return current
    if (current !== undefined && current.pending === 0) this.#retire(current)
    const reusable = needed <= slabBytes ? this.#free.pop() : undefined
    this.#current = reusable ?? this.#allocate(Math.max(slabBytes, needed))
    return this.#current
  }

  /** A writer is writing after the slab's `used` mark, which must not move until {@link vacate}. */
  hold(slab: Slab): void {
    slab.pending++
  }

  /** A frame of `length` bytes is now at the slab's `used` mark. */
  occupy(slab: Slab, length: number): void {
    slab.pending++
    // The next frame starts aligned, so that 4-byte reads of its columns are aligned too.
    slab.used = Math.min((slab.used + length + 7) & ~7, slab.memory.byteLength)
  }

  /** One of its frames was acknowledged, or a writer released its hold. */
  vacate(slab: Slab): void {
    slab.pending--
    if (slab.pending > 0) return
    if (slab === this.#current && slab.memory.byteLength === slabBytes) slab.used = 0
    else this.#retire(slab)
  }

  #retire(slab: Slab): void {
    if (slab === this.#current) this.#current = undefined
    slab.used = 0
    if (slab.memory.byteLength === slabBytes && this.#free.length < keptFree) this.#free.push(slab)
    else this.#released(slab)
  }

  #allocate(size: number): Slab {
    const memory = new SharedArrayBuffer(size)
    return { id: this.#nextId++, memory, bytes: Buffer.from(memory), pending: 0, used: 0 }
  }
}
