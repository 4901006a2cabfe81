/**
 * Which objects a merged block has, readable without unpacking its table of contents: it stands before the table in the same BLOB, as a frame that zstd
 * skips (RFC 8878, 3.1.2). Most questions about one object are answered by it for most blocks.
 */

import { crc32 } from "node:zlib"
import protobuf from "protobufjs/minimal.js"
import { messageOf } from "../../message-of.ts"
import { MalformedFrameError, Message, readerOf } from "../../wire/index.ts"

/** The first of the numbers with which a frame to skip may begin. */
const magic = 0x184d2a50
/** Magic number and length, as zstd demands, and the CRC-32 of what follows. */
const headerBytes = 12

const indexFields = new Message({ kinds: [1, "manySpans"] })
const kindFields = new Message({ gvk: [1, "string"], numbers: [2, "bytes"] })

/** The objects of one frame of the table, in the order of frames. */
interface KindObjects<Numbers> {
  readonly gvk: string
  readonly numbers: Numbers
}

/** Objects that are looked for. */
export interface WantedObjects {
  readonly gvk: string
  readonly numbers: ReadonlySet<number>
}

export const writeObjectIndex = (kinds: ReadonlyArray<KindObjects<Uint8Array>>): Uint8Array => {
  const writer = protobuf.Writer.create()
  for (const kind of kinds) kindFields.writeField(writer, indexFields.tags.kinds, kind)
  const content = writer.finish()
  const header = Buffer.alloc(headerBytes)
  header.writeUInt32LE(magic, 0)
  header.writeUInt32LE(content.length + 4, 4)
  header.writeUInt32LE(crc32(content), 8)
  return Buffer.concat([header, content])
}

/** Bytes of a BLOB in which most indexes are. */
export const indexHeadBytes = 4096

/** More than these are not looked for: unpacking the table then takes no longer. */
const mostLookedFor = 64

/** An index, and where the table begins. */
export class ObjectIndex {
  readonly kinds: ReadonlyArray<KindObjects<NumberSet>>
  /** Of all of it. */
  readonly byteLength: number

  private constructor(kinds: ReadonlyArray<KindObjects<NumberSet>>, byteLength: number) {
    this.kinds = kinds
    this.byteLength = byteLength
  }

  /** That of a BLOB, of which the beginning suffices; `undefined`: it has none, or not as a whole. @throws MalformedFrameError */
  static of(toc: Uint8Array): ObjectIndex | undefined {
    const view = new DataView(toc.buffer, toc.byteOffset, toc.byteLength)
    if (toc.length < headerBytes || view.getUint32(0, true) !== magic) return undefined
    const end = 8 + view.getUint32(4, true)
    if (end > toc.length) return undefined
    try {
      const content = toc.subarray(headerBytes, end)
      if (crc32(content) !== view.getUint32(8, true)) throw new RangeError("its checksum is another one")
      return new ObjectIndex(readKinds(content), end)
    } catch (error) {
      throw new MalformedFrameError({ reason: `index of objects: ${messageOf(error)}`, byteLength: toc.length })
    }
  }

  /** Whether the block may have one of them: `true` as well if they are too many to look for. */
  mayHold({ gvk, numbers }: WantedObjects): boolean {
    const ofKind = this.kinds.filter((each) => each.gvk === gvk)
    if (numbers.size > mostLookedFor) return ofKind.length > 0
    for (const number of numbers) if (ofKind.some((each) => each.numbers.rankOf(number) >= 0)) return true
    return false
  }
}

const readKinds = (content: Uint8Array): ReadonlyArray<KindObjects<NumberSet>> =>
  (indexFields.read(readerOf(content)).kinds ?? []).map((span) => {
    const { gvk = "", numbers = new Uint8Array(0) } = kindFields.read(readerOf(content, span))
    return { gvk, numbers: new NumberSet(numbers) }
  })

/**
 * A set of numbers that is searched as it is stored, in Elias–Fano's form: of each number, in ascending order, the lowest bits one after the other, and the
 * rest as bits that are set where it is. So it takes 2 bits a number more than the logarithm of their mean distance, 7 for 3,000 objects of 100,000, and
 * a number is found in half a µs, where unpacking a table of contents takes 50.
 *
 * Bytes: count, first number and span (last less first) as u32, little-endian; lowest bits; the rest.
 */

const setHeaderBytes = 12

/** How many of the lowest bits are stored as they are. */
const lowBitsOf = (count: number, span: number): number => (span <= count ? 0 : 31 - Math.clz32(span / count))

const bytesFor = (bits: number): number => Math.ceil(bits / 8)

const population = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length)

/** `ascending`: numbers below 2^32, each once, at least one. */
export const writeNumberSet = (ascending: Uint32Array): Uint8Array => {
  const count = ascending.length
  const first = ascending[0] as number
  const span = (ascending[count - 1] as number) - first
  const lowBits = lowBitsOf(count, span)
  const highAt = setHeaderBytes + bytesFor(count * lowBits)
  const bytes = Buffer.alloc(highAt + bytesFor(count + highOf(span, lowBits) + 1))
  bytes.writeUInt32LE(count, 0)
  bytes.writeUInt32LE(first, 4)
  bytes.writeUInt32LE(span, 8)
  const set = (at: number, bit: number): void => {
    bytes[at + (bit >>> 3)] = (bytes[at + (bit >>> 3)] as number) | (1 << (bit & 7))
  }
  ascending.forEach((number, rank) => {
    const value = number - first
    for (let bit = 0; bit < lowBits; bit++) if ((value >>> bit) & 1) set(setHeaderBytes, rank * lowBits + bit)
    set(highAt, highOf(value, lowBits) + rank)
  })
  return bytes
}

const highOf = (value: number, lowBits: number): number => Math.floor(value / 2 ** lowBits)

/** Reads a set where it is. */
export class NumberSet {
  readonly count: number
  readonly #first: number
  readonly #span: number
  readonly #lowBits: number
  readonly #lows: Uint8Array
  readonly #highs: Uint8Array

  /** @throws RangeError if these are not the bytes of a set */
  constructor(bytes: Uint8Array) {
    if (bytes.length < setHeaderBytes) throw new RangeError(`a set of numbers in ${bytes.length} bytes`)
    const header = new DataView(bytes.buffer, bytes.byteOffset, setHeaderBytes)
    const [count, first, span] = [0, 4, 8].map((at) => header.getUint32(at, true)) as [number, number, number]
    const lowBits = lowBitsOf(count, span)
    const highAt = setHeaderBytes + bytesFor(count * lowBits)
    const length = highAt + bytesFor(count + highOf(span, lowBits) + 1)
    if (count === 0 || count > span + 1 || first + span >= 2 ** 32 || length !== bytes.length)
      throw new RangeError(`${count} numbers from ${first} to ${first + span} in ${bytes.length} bytes`)
    this.count = count
    this.#first = first
    this.#span = span
    this.#lowBits = lowBits
    this.#lows = bytes.subarray(setHeaderBytes, highAt)
    this.#highs = bytes.subarray(highAt)
  }

  /** How many smaller numbers it has; −1: it does not have this one. */
  rankOf(number: number): number {
    const value = number - this.#first
    if (value < 0 || value > this.#span) return -1
    const high = highOf(value, this.#lowBits)
    const low = value - high * 2 ** this.#lowBits
    for (let bit = this.#afterZeros(high), rank = bit - high; this.#isSet(bit) && rank < this.count; bit++, rank++) {
      const found = this.#low(rank)
      if (found >= low) return found === low ? rank : -1
    }
    return -1
  }

  /** The one with this many smaller ones. @throws RangeError if there is none */
  at(rank: number): number {
    let [at, left] = [0, rank]
    for (; at < this.#highs.length; at++) {
      const set = population[this.#highs[at] as number] as number
      if (set > left) break
      left -= set
    }
    let bit = at * 8
    for (; left > 0 || !this.#isSet(bit); bit++) {
      if (bit >= this.#highs.length * 8 || rank >= this.count) throw new RangeError(`number ${rank} of ${this.count}`)
      if (this.#isSet(bit)) left--
    }
    return this.#first + (bit - rank) * 2 ** this.#lowBits + this.#low(rank)
  }

  /** All of them, ascending. @throws RangeError if there are fewer than it says */
  all(): Uint32Array {
    const numbers = new Uint32Array(this.count)
    const step = 2 ** this.#lowBits
    let rank = 0
    for (let at = 0; at < this.#highs.length; at++) {
      for (let left = this.#highs[at] as number; left !== 0 && rank < this.count; left &= left - 1, rank++) {
        const bit = at * 8 + 31 - Math.clz32(left & -left)
        numbers[rank] = this.#first + (bit - rank) * step + this.#low(rank)
      }
    }
    if (rank < this.count) throw new RangeError(`${rank} numbers instead of ${this.count}`)
    return numbers
  }

  /** The bit after a number of bits that are not set. */
  #afterZeros(zeros: number): number {
    let [at, left] = [0, zeros]
    for (; at < this.#highs.length; at++) {
      const unset = 8 - (population[this.#highs[at] as number] as number)
      if (unset >= left) break
      left -= unset
    }
    let bit = at * 8
    for (; left > 0; bit++) if (!this.#isSet(bit)) left--
    return bit
  }

  #isSet(bit: number): boolean {
    return (((this.#highs[bit >>> 3] ?? 0) >>> (bit & 7)) & 1) === 1
  }

  #low(rank: number): number {
    const lows = this.#lows
    if (this.#lowBits <= 16) {
      const bit = rank * this.#lowBits
      const at = bit >>> 3
      const bytes = (lows[at] ?? 0) | ((lows[at + 1] ?? 0) << 8) | ((lows[at + 2] ?? 0) << 16)
      return (bytes >>> (bit & 7)) & ((1 << this.#lowBits) - 1)
    }
    let [low, taken] = [0, 0]
    for (let bit = rank * this.#lowBits; taken < this.#lowBits; ) {
      const within = bit & 7
      const bits = Math.min(8 - within, this.#lowBits - taken)
      low += (((lows[bit >>> 3] as number) >>> within) & ((1 << bits) - 1)) * 2 ** taken
      taken += bits
      bit += bits
    }
    return low
  }
}
