/** Bytes that are appended to, with numbers of variable length: seven bits a byte, the lowest first. */

/** Grows as it must; {@link clear} keeps its memory. */
export class ByteWriter {
  #bytes: Buffer
  length = 0

  constructor(size = 64 * 1024) {
    this.#bytes = Buffer.allocUnsafeSlow(size)
  }

  clear(): void {
    this.length = 0
  }

  /** What was written, valid until the next write. */
  written(from = 0): Buffer {
    return this.#bytes.subarray(from, this.length)
  }

  byte(value: number): void {
    this.#reserve(1)
    this.#bytes[this.length++] = value
  }

  /** An integer from 0 to 2^53. */
  number(value: number): void {
    this.#reserve(8)
    let rest = value
    while (rest >= 128) {
      this.#bytes[this.length++] = (rest % 128) | 128
      rest = Math.floor(rest / 128)
    }
    this.#bytes[this.length++] = rest
  }

  /** An integer between ±2^52: near 0, few bytes. */
  signed(value: number): void {
    this.number(value < 0 ? -2 * value - 1 : 2 * value)
  }

  text(value: string): void {
    const length = Buffer.byteLength(value)
    this.number(length)
    this.#reserve(length)
    this.length += this.#bytes.write(value, this.length)
  }

  /** A part of other bytes. */
  append(source: Uint8Array, from: number, until: number): void {
    const length = until - from
    this.#reserve(length)
    const { length: at } = this
    // Copying few bytes by a call takes longer than one after another.
    if (length < 48)
      for (let index = 0; index < length; index++) this.#bytes[at + index] = source[from + index] as number
    else this.#bytes.set(source.subarray(from, until), at)
    this.length += length
  }

  #reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.length + more))
    larger.set(this.#bytes.subarray(0, this.length))
    this.#bytes = larger
  }
}
