/**
 * bincode 1 with its defaults, as far as the ABI uses it: little endian, integers of fixed width, a `u64` length before strings, byte
 * vectors and maps, one byte before an optional value.
 */

/** Appends values to a buffer that doubles when it is full. */
export class Writer {
  private buffer: ArrayBuffer = new ArrayBuffer(256)
  length: u32 = 0

  get address(): usize {
    return changetype<usize>(this.buffer)
  }

  size(size: u64): Writer {
    store<u64>(this.reserve(8), size)
    return this
  }

  flag(flag: bool): Writer {
    store<u8>(this.reserve(1), flag ? 1 : 0)
    return this
  }

  text(text: string): Writer {
    const bytes = String.UTF8.encode(text)
    this.size(bytes.byteLength)
    memory.copy(this.reserve(bytes.byteLength), changetype<usize>(bytes), bytes.byteLength)
    return this
  }

  /** A string that is absent if it is empty. */
  optional(text: string): Writer {
    this.flag(text.length > 0)
    return text.length > 0 ? this.text(text) : this
  }

  private reserve(count: u32): usize {
    const start = this.length
    this.length += count
    if (this.length > <u32>this.buffer.byteLength) {
      const larger = new ArrayBuffer(max(this.length, 2 * this.buffer.byteLength))
      memory.copy(changetype<usize>(larger), this.address, start)
      this.buffer = larger
    }
    return this.address + start
  }
}

/** Takes values off the front. Traps if they are not there: the host breaks the ABI then. */
export class Reader {
  private offset: u32 = 0

  constructor(private readonly buffer: ArrayBuffer) {}

  u16(): u16 {
    return load<u16>(this.take(2))
  }

  size(): u32 {
    const size = load<u64>(this.take(8))
    assert(size <= <u64>this.buffer.byteLength, "the host's value ends too early")
    return <u32>size
  }

  text(): string {
    const length = this.size()
    return String.UTF8.decodeUnsafe(this.take(length), length)
  }

  private take(count: u32): usize {
    assert(<u64>this.offset + count <= <u64>this.buffer.byteLength, "the host's value ends too early")
    const address = changetype<usize>(this.buffer) + this.offset
    this.offset += count
    return address
  }
}
