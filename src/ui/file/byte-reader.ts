/** Reads what src/trace/views/html/byte-writer.ts writes. */

/** @throws RangeError beyond the end */
export class ByteReader {
  readonly bytes: Uint8Array
  at: number
  readonly #end: number

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.#end = end
  }

  get hasMore(): boolean {
    return this.at < this.#end
  }

  byte(): number {
    if (this.at >= this.#end) throw new RangeError("the data of this file is cut off")
    return this.bytes[this.at++] as number
  }

  number(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  signed(): number {
    const value = this.number()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  /** The next bytes, in the same memory. */
  take(length: number): Uint8Array {
    const begin = this.at
    this.at += length
    if (this.at > this.#end) throw new RangeError("the data of this file is cut off")
    return this.bytes.subarray(begin, this.at)
  }

  /** A part with its length before it. */
  part(): ByteReader {
    const length = this.number()
    this.take(length)
    return new ByteReader(this.bytes, this.at - length, this.at)
  }

  text(): string {
    return new TextDecoder().decode(this.take(this.number()))
  }
}
