/** Reads the binary format of WebAssembly: bytes, LEB128 integers, names. It trusts nothing and throws {@link WasmFormatError}. */

/** The bytes are not WebAssembly (`malformed`), or use a part of it that guests do not get (`unsupported`). */
export class WasmFormatError extends Error {
  readonly fault: "malformed" | "unsupported"

  constructor(fault: WasmFormatError["fault"], message: string) {
    super(message)
    this.fault = fault
  }
}

// A name is any Unicode text, a byte order mark included.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export class WasmReader {
  readonly bytes: Uint8Array
  /** The offset of the next byte. */
  at: number
  readonly #end: number

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.bytes = bytes
    this.at = start
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.at === this.#end
  }

  byte(): number {
    const value = this.at < this.#end ? this.bytes[this.at++] : undefined
    if (value === undefined) throw this.malformed("it ends too early")
    return value
  }

  /** An unsigned LEB128 integer of 32 bits, in at most five bytes. */
  u32(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      // Not with shifts, whose results are signed.
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) {
        if (value >= 2 ** 32) break
        return value
      }
    }
    throw this.malformed("an integer has more than 32 bits")
  }

  /** Steps over a LEB128 integer of up to 64 bits. */
  skipInteger(): void {
    for (let length = 0; length < 10; length++) if (this.byte() < 0x80) return
    throw this.malformed("an integer has more than 64 bits")
  }

  skip(length: number): void {
    if (length > this.#end - this.at) throw this.malformed("it ends too early")
    this.at += length
  }

  name(): string {
    const length = this.u32()
    const start = this.at
    this.skip(length)
    try {
      return decoder.decode(this.bytes.subarray(start, this.at))
    } catch {
      throw this.malformed("a name is not UTF-8")
    }
  }

  malformed(what: string): WasmFormatError {
    return new WasmFormatError("malformed", `${what}, at byte ${this.at}`)
  }
}
