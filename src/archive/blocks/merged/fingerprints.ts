/**
 * The fingerprints of a merged block's events: behind its objects in the same BLOB, and not compressed, since they are as good as random. Only what goes on with a recording
 * needs them; in the table of contents they were 8 of its 10 bytes an event, read by every question.
 */
import type { EventColumns } from "./event-columns.ts"

/** Of an event: two u32, little-endian. */
export const fingerprintBytes = 8

/** Of all events, in the order of `columns`. */
export const writeFingerprints = (columns: ReadonlyArray<EventColumns>): Uint8Array =>
  Buffer.concat(
    columns.map(({ count, fingerprintsLow, fingerprintsHigh }) => {
      const bytes = Buffer.allocUnsafe(count * fingerprintBytes)
      for (let index = 0; index < count; index++) {
        bytes.writeUInt32LE(fingerprintsLow[index] as number, index * fingerprintBytes)
        bytes.writeUInt32LE(fingerprintsHigh[index] as number, index * fingerprintBytes + 4)
      }
      return bytes
    }),
  )

/** Fingerprints of one kind's events, read when one is asked for. */
export class StoredFingerprints {
  readonly #dataOf: () => Uint8Array | undefined
  readonly #beforeEnd: number
  readonly #count: number
  #view: DataView | undefined

  /** `dataOf`: the BLOB; `undefined`: it is damaged. `beforeEnd`: bytes from the first of these to its end. */
  constructor(dataOf: () => Uint8Array | undefined, beforeEnd: number, count: number) {
    this.#dataOf = dataOf
    this.#beforeEnd = beforeEnd
    this.#count = count
  }

  /** 0 if the BLOB is damaged: the object's next state counts as a change. */
  low(index: number): number {
    return this.#bytes().getUint32(index * fingerprintBytes, true)
  }

  high(index: number): number {
    return this.#bytes().getUint32(index * fingerprintBytes + 4, true)
  }

  #bytes(): DataView {
    this.#view ??= this.#read()
    return this.#view
  }

  #read(): DataView {
    const length = this.#count * fingerprintBytes
    const data = this.#dataOf()
    if (data === undefined || data.length < this.#beforeEnd) return new DataView(new ArrayBuffer(length))
    const start = data.length - this.#beforeEnd
    // A copy: the BLOB is many times as large.
    return new DataView(Uint8Array.prototype.slice.call(data, start, start + length).buffer)
  }
}
