/**
 * The part of bincode 1.x that the ABI uses, with its default configuration: little endian, integers of fixed width, a length of 64 bits
 * before strings, byte strings, lists and maps, one byte 0 or 1 for booleans and before optional values, fields in order without names.
 *
 * The reader trusts nothing: a length is compared with what is left before anything is allocated for it, so the memory that a value takes is
 * bounded by its bytes.
 */

/** Bytes are not the bincode of the value that they should be. */
export class BincodeError extends Error {
  readonly fault: "truncated" | "length" | "utf-8" | "tag" | "trailing" | "too-many"

  /** `offset`: where it was noticed, in bytes from the beginning of the structure. */
  constructor(structure: string, offset: number, fault: BincodeError["fault"], reason: string) {
    super(`${structure} at byte ${offset}: ${reason}`)
    this.fault = fault
  }
}

// Without ignoreBOM a decoder drops U+FEFF at the beginning, and the string would not be the guest's.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const encoder = new TextEncoder()

/** Reads one structure from beginning to end. Every method throws {@link BincodeError}. */
export class BincodeReader {
  readonly #structure: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  #at = 0

  constructor(structure: string, bytes: Uint8Array) {
    this.#structure = structure
    // The slices of a Buffer share its memory; those of a plain array are copies.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  u16(): number {
    return this.#view.getUint16(this.#advance(2), true)
  }

  boolean(): boolean {
    const start = this.#advance(1)
    const tag = this.#bytes[start]
    if (tag === 0 || tag === 1) return tag === 1
    throw this.#error(start, "tag", `${tag} is neither 0 nor 1`)
  }

  /**
   * The length of a list or map.
   *
   * @param leastBytes what each entry takes at least, so that a count beyond the bytes is noticed at once.
   */
  count(leastBytes: number): number {
    const start = this.#advance(8)
    const count = this.#view.getBigUint64(start, true)
    const left = this.#bytes.length - this.#at
    if (count * BigInt(leastBytes) <= BigInt(left)) return Number(count)
    throw this.#error(start, "length", `a length of ${count} does not fit into the ${left} bytes that follow`)
  }

  string(): string {
    const length = this.count(1)
    const start = this.#advance(length)
    try {
      return decoder.decode(this.#bytes.subarray(start, start + length))
    } catch {
      throw this.#error(start, "utf-8", `${length} bytes that are not UTF-8 where text is expected`)
    }
  }

  optionalString(): string | undefined {
    return this.boolean() ? this.string() : undefined
  }

  /** A copy, because a guest's memory changes. */
  bytes(): Uint8Array {
    const length = this.count(1)
    const start = this.#advance(length)
    return this.#bytes.slice(start, start + length)
  }

  /** Refuses bytes behind the structure. */
  end(): void {
    const left = this.#bytes.length - this.#at
    if (left > 0) throw this.#error(this.#at, "trailing", `${left} bytes behind its end`)
  }

  /** For a limit of the caller. */
  tooMany(reason: string): BincodeError {
    return this.#error(this.#at, "too-many", reason)
  }

  /** @returns the offset before the step. */
  #advance(length: number): number {
    const start = this.#at
    const left = this.#bytes.length - start
    if (length > left) throw this.#error(start, "truncated", `${length} bytes are expected, and ${left} are left`)
    this.#at += length
    return start
  }

  #error(offset: number, fault: BincodeError["fault"], reason: string): BincodeError {
    return new BincodeError(this.#structure, offset, fault, reason)
  }
}

/** Writes one structure. Lone surrogates of strings become U+FFFD, because UTF-8 has none. */
export class BincodeWriter {
  #bytes: Uint8Array
  #view: DataView
  #length = 0

  /** @param expectedBytes a guess that saves copying. */
  constructor(expectedBytes = 256) {
    this.#bytes = new Uint8Array(expectedBytes)
    this.#view = new DataView(this.#bytes.buffer)
  }

  u16(value: number): void {
    const start = this.#grow(2)
    this.#view.setUint16(start, value, true)
  }

  boolean(value: boolean): void {
    const start = this.#grow(1)
    this.#bytes[start] = value ? 1 : 0
  }

  count(value: number): void {
    const start = this.#grow(8)
    this.#view.setBigUint64(start, BigInt(value), true)
  }

  string(text: string): void {
    this.bytes(encoder.encode(text))
  }

  optionalString(text: string | undefined): void {
    this.boolean(text !== undefined)
    if (text !== undefined) this.string(text)
  }

  bytes(bytes: Uint8Array): void {
    this.count(bytes.length)
    const start = this.#grow(bytes.length)
    this.#bytes.set(bytes, start)
  }

  /** What has been written; the writer must not be used afterwards. */
  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(length: number): number {
    const start = this.#length
    this.#length += length
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, 2 * this.#bytes.length))
      larger.set(this.#bytes.subarray(0, start))
      this.#bytes = larger
      this.#view = new DataView(larger.buffer)
    }
    return start
  }
}
