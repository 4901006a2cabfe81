/**
 * The times of a frame's events while it is being built: when each happened and when it was received.
 *
 * On the wire are the times of receipt, and for a frame with late events the µs from each event to its receipt. So a frame of live events
 * has nothing more, and events of hours fit into the frame of the network read that brought them: only the times of receipt have to be
 * close to each other.
 */

const TWO_POW_32 = 0x1_0000_0000

export class FrameTimes {
  #happened: Float64Array
  #received: Float64Array
  /** The columns 8 and 23 in wire format, filled when the frame is finished. */
  #deltas: DataView
  #lateness: DataView
  #mayBeLate = false

  constructor(capacity: number) {
    this.#happened = new Float64Array(capacity)
    this.#received = new Float64Array(capacity)
    this.#deltas = new DataView(new ArrayBuffer(capacity * 4))
    this.#lateness = new DataView(new ArrayBuffer(0))
  }

  /** Starts a frame. */
  begin(): void {
    this.#mayBeLate = false
  }

  /** Whether these can be the times of event `index`: neither before those of the one before, and received less than 2^32 µs after it. */
  accepts(index: number, happened: number, received: number): boolean {
    if (index === 0) return happened <= received
    const delta = received - (this.#received[index - 1] as number)
    return delta >= 0 && delta < TWO_POW_32 && happened <= received && happened >= (this.#happened[index - 1] as number)
  }

  /** Notes accepted times. */
  set(index: number, happened: number, received: number): void {
    this.#happened[index] = happened
    this.#received[index] = received
    if (happened !== received) this.#mayBeLate = true
  }

  happened(index: number): number {
    return this.#happened[index] as number
  }

  /** @throws RangeError if the event would happen after its receipt */
  move(index: number, happened: number): void {
    const received = this.#received[index] as number
    if (!(happened <= received)) throw new RangeError(`an event received at ${received} cannot happen at ${happened}`)
    this.set(index, happened, received)
  }

  moveToReceipt(index: number): void {
    this.#happened[index] = this.#received[index] as number
  }

  /** When event 0 was received. */
  get base(): number {
    return this.#received[0] as number
  }

  /** The µs between the receipts of `count` events. Valid until the next call. */
  deltas(count: number): Uint8Array {
    for (let index = 1; index < count; index++) {
      this.#deltas.setUint32(index * 4, (this.#received[index] as number) - (this.#received[index - 1] as number), true)
    }
    return new Uint8Array(this.#deltas.buffer, 0, count * 4)
  }

  /** The µs from each of `count` events to its receipt; `undefined` if none is late. Valid until the next call. */
  lateness(count: number): Uint8Array | undefined {
    if (!this.#mayBeLate) return undefined
    if (this.#lateness.byteLength < count * 8) this.#lateness = new DataView(new ArrayBuffer(this.#happened.length * 8))
    let isLate = false
    for (let index = 0; index < count; index++) {
      const lateness = (this.#received[index] as number) - (this.#happened[index] as number)
      this.#lateness.setFloat64(index * 8, lateness, true)
      if (lateness > 0) isLate = true
    }
    return isLate ? new Uint8Array(this.#lateness.buffer, 0, count * 8) : undefined
  }

  grow(capacity: number): void {
    this.#happened = grown(this.#happened, capacity)
    this.#received = grown(this.#received, capacity)
    this.#deltas = new DataView(new ArrayBuffer(capacity * 4))
  }
}

const grown = (times: Float64Array, capacity: number): Float64Array => {
  const larger = new Float64Array(capacity)
  larger.set(times)
  return larger
}
