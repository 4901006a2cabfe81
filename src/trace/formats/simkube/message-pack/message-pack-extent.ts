/**
 * Finds the end of a MessagePack value in a stream without decoding it: is this trace complete, truncated, or not a trace?
 *
 * Guarantee: constant memory (a count of values still to come, no stack), one look at each header byte, strings skipped. It does not check
 * the meaning of the values.
 */

/** How much of one of its arrays a stream contains so far. */
interface ArrayExtent {
  /** Elements that have started. */
  readonly begun: number
  readonly length: number
}

/** Number of bytes of the length field after a header, and the unit of the length. */
type Length = { readonly width: 1 | 2 | 4; readonly counts: "bytes" | "extension" | "elements" | "pairs" }

const lengths: ReadonlyMap<number, Length> = new Map([
  [0xc4, { width: 1, counts: "bytes" }],
  [0xc5, { width: 2, counts: "bytes" }],
  [0xc6, { width: 4, counts: "bytes" }],
  [0xc7, { width: 1, counts: "extension" }],
  [0xc8, { width: 2, counts: "extension" }],
  [0xc9, { width: 4, counts: "extension" }],
  [0xd9, { width: 1, counts: "bytes" }],
  [0xda, { width: 2, counts: "bytes" }],
  [0xdb, { width: 4, counts: "bytes" }],
  [0xdc, { width: 2, counts: "elements" }],
  [0xdd, { width: 4, counts: "elements" }],
  [0xde, { width: 2, counts: "pairs" }],
  [0xdf, { width: 4, counts: "pairs" }],
])

/** Bytes that follow the headers 0xca to 0xd8: floats, integers, and extensions of fixed size with their type byte. */
const fixedSizes = [4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 3, 5, 9, 17]

export class MessagePackExtent {
  /** Number of values still to come when the followed array starts, including itself. */
  readonly #follow: number | undefined
  /** The number of values still to come after that array, and the lowest number since it started. */
  #following: { readonly after: number; readonly length: number } | undefined
  #lowest = Number.POSITIVE_INFINITY
  /** Values still to come; initially the top-level one. */
  #pending = 1
  /** Bytes of the current value still to come. */
  #skip = 0
  #length: Length | undefined
  #lengthBytesLeft = 0
  #lengthValue = 0
  #isBroken = false

  /**
   * `follow`: the member of the outermost array or map to follow, an array, counted from the end. At least 2: the end of an array is
   * recognised only if something follows it.
   */
  constructor({ follow }: { readonly follow?: number } = {}) {
    this.#follow = follow
  }

  /** The followed array; `undefined` until it starts, and if that member is not an array. */
  get followed(): ArrayExtent | undefined {
    if (this.#following === undefined) return undefined
    const { after, length } = this.#following
    return { begun: Math.min(length, after + length - this.#lowest), length }
  }

  /** Whether the value ends exactly at the end of the bytes so far. */
  get isWhole(): boolean {
    return !this.#isBroken && this.#pending === 0 && this.#skip === 0 && this.#length === undefined
  }

  /** Whether the bytes so far cannot be one value, whatever follows: an unknown header, or bytes after the end. */
  get isBroken(): boolean {
    return this.#isBroken
  }

  /** Processes the next bytes of the stream. */
  add(bytes: Uint8Array): void {
    let at = 0
    while (at < bytes.length && !this.#isBroken) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length - at)
        this.#skip -= skipped
        at += skipped
      } else if (this.#length !== undefined) this.#addLengthByte(this.#length, bytes[at++] ?? 0)
      else if (this.#pending === 0) this.#isBroken = true
      else this.#addHeader(bytes[at++] ?? 0)
    }
  }

  #addLengthByte(length: Length, byte: number): void {
    this.#lengthValue = this.#lengthValue * 256 + byte
    if (--this.#lengthBytesLeft > 0) return
    this.#length = undefined
    if (length.counts === "elements") this.#addElements(this.#lengthValue)
    else if (length.counts === "pairs") this.#pending += 2 * this.#lengthValue
    else this.#skip = this.#lengthValue + (length.counts === "extension" ? 1 : 0)
  }

  /** The count is this low only outside of all members: inside one, the members after it are still to come as well. */
  #addElements(count: number): void {
    if (this.#follow !== undefined && this.#following === undefined && this.#pending === this.#follow - 1) {
      this.#following = { after: this.#pending, length: count }
      this.#lowest = this.#pending + count
    }
    this.#pending += count
  }

  #addHeader(header: number): void {
    this.#pending--
    if (this.#pending < this.#lowest && this.#following !== undefined) this.#lowest = this.#pending
    if (header <= 0x7f || header >= 0xe0) return
    if (header <= 0x8f) this.#pending += 2 * (header & 0x0f)
    else if (header <= 0x9f) this.#addElements(header & 0x0f)
    else if (header <= 0xbf) this.#skip = header & 0x1f
    else if (header === 0xc1) this.#isBroken = true
    else if (header >= 0xca && header <= 0xd8) this.#skip = fixedSizes[header - 0xca] ?? 0
    else {
      this.#length = lengths.get(header)
      this.#lengthBytesLeft = this.#length?.width ?? 0
      this.#lengthValue = 0
    }
  }
}
