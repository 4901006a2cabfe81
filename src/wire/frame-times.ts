/**
 * The times of a frame's events while it is being built: when each happened and when it was received.
 *
 * On the wire are the times of receipt, and for a frame with late events the µs from each event to its receipt. So a frame of live events
 * has nothing more, and events of hours fit into the frame of the network read that brought them: only the times of receipt have to be
 * close to each other.
 */

const TWO_POW_32 = 0x1_0000_0000

export class FrameTimes {
  #received: Float64Array
  /** Only in a frame with an event that is or was late: otherwise events happened when they were received. */
  #happened: Float64Array
  /** The columns 8 and 23 in wire format; the second is filled when the frame is finished. */
  #deltas: DataView
  #lateness: DataView
  #mayBeLate = false
  #lastReceived = 0

  constructor(capacity: number) {
    this.#received = new Float64Array(capacity)
    this.#happened = new Float64Array(0)
    this.#deltas = new DataView(new ArrayBuffer(capacity * 4))
    this.#lateness = new DataView(new ArrayBuffer(0))
  }

  begin(): void {
    this.#mayBeLate = false
  }

  /**
   * Notes when event `index` happened and was received. `false`, with nothing noted, if either is before that of the event before, if it was
   * received 2^32 µs or more after it, or before it happened.
   */
  add(index: number, happened: number, received: number): boolean {
    const delta = index === 0 ? 0 : received - this.#lastReceived
    if (!(delta >= 0 && delta < TWO_POW_32)) return false
    if (happened !== received || this.#mayBeLate) {
      if (!(happened <= received && (index === 0 || happened >= this.happened(index - 1)))) return false
      this.#setHappened(index, happened)
    }
    this.#received[index] = received
    this.#lastReceived = received
    this.#deltas.setUint32(index * 4, delta, true)
    return true
  }

  happened(index: number): number {
    return (this.#mayBeLate ? this.#happened[index] : this.#received[index]) ?? 0
  }

  /** @throws RangeError if the event would happen after its receipt */
  move(index: number, happened: number): void {
    const received = this.#received[index] ?? 0
    if (!(happened <= received)) throw new RangeError(`an event received at ${received} cannot happen at ${happened}`)
    if (happened !== this.happened(index)) this.#setHappened(index, happened)
  }

  moveToReceipt(index: number): void {
    if (this.#mayBeLate) this.#happened[index] = this.#received[index] ?? 0
  }

  get base(): number {
    return this.#received[0] ?? 0
  }

  /** The µs between the receipts of `count` events. Valid until the next frame. */
  deltas(count: number): Uint8Array {
    return new Uint8Array(this.#deltas.buffer, 0, count * 4)
  }

  /** The µs from each of `count` events to its receipt; `undefined` if none is late. Valid until the next frame. */
  lateness(count: number): Uint8Array | undefined {
    if (!this.#mayBeLate) return undefined
    if (this.#lateness.byteLength < count * 8) this.#lateness = new DataView(new ArrayBuffer(this.#received.length * 8))
    let isLate = false
    for (let index = 0; index < count; index++) {
      const lateness = (this.#received[index] ?? 0) - (this.#happened[index] ?? 0)
      this.#lateness.setFloat64(index * 8, lateness, true)
      if (lateness > 0) isLate = true
    }
    return isLate ? new Uint8Array(this.#lateness.buffer, 0, count * 8) : undefined
  }

  grow(capacity: number): void {
    this.#received = grown(this.#received, capacity)
    this.#happened = grown(this.#happened, this.#mayBeLate ? capacity : 0)
    const deltas = new Uint8Array(capacity * 4)
    deltas.set(new Uint8Array(this.#deltas.buffer))
    this.#deltas = new DataView(deltas.buffer)
  }

  #setHappened(index: number, happened: number): void {
    if (!this.#mayBeLate) {
      if (this.#happened.length < this.#received.length) this.#happened = new Float64Array(this.#received.length)
      this.#happened.set(this.#received)
      this.#mayBeLate = true
    }
    this.#happened[index] = happened
  }
}

const grown = (times: Float64Array, capacity: number): Float64Array => {
  const larger = new Float64Array(capacity)
  if (capacity > 0) larger.set(times)
  return larger
}
