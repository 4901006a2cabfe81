/** Where the items of a stream of events end in the pieces that it is sent in, and which sequence number the last whole one has. */
import { type EventForm, itemEnd } from "../../actors/reader/event-encoding.ts"

const lineFeed = 0x0a

/** bytes of an item within which its sequence number is: only its names are before it. */
const headBytes = 4096

export class ItemBoundaries {
  /** What ends an item, as bytes. */
  readonly #end: Buffer
  /** The beginning of the item that is not whole yet. */
  #head = Buffer.alloc(0)
  #isBetween = true
  #endsWithLineFeed = false
  #sequence: number | undefined

  /** `sequence`: number after which the stream begins; `undefined`: after the present. */
  constructor(form: EventForm, sequence: number | undefined) {
    this.#end = Buffer.from(itemEnd(form))
    this.#sequence = sequence
  }

  /** Whether everything up to now is whole items. */
  get isBetween(): boolean {
    return this.#isBetween
  }

  /** Of the last whole item that has one. */
  get sequence(): number | undefined {
    return this.#sequence
  }

  /** Bytes of the next piece up to the end of its first item that ends in it; `undefined`: none does. Changes nothing. */
  firstEnd(piece: Uint8Array): number | undefined {
    if (this.#endsAtOnce(piece)) return 1
    const found = bufferOf(piece).indexOf(this.#end)
    return found < 0 ? undefined : found + this.#end.length
  }

  /** The next piece. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return
    const bytes = bufferOf(piece)
    const found = bytes.lastIndexOf(this.#end)
    const end = found >= 0 ? found + this.#end.length : this.#endsAtOnce(bytes) ? 1 : 0
    if (end > 0) {
      const before = found <= 0 ? -1 : bytes.lastIndexOf(this.#end, found - 1)
      const start = before >= 0 ? before + this.#end.length : found > 0 && this.#endsAtOnce(bytes) ? 1 : 0
      const begun = start > 0 ? Buffer.alloc(0) : this.#head
      this.#note(Buffer.concat([begun, bytes.subarray(start, end)]).subarray(0, headBytes))
      this.#head = Buffer.alloc(0)
    }
    const left = headBytes - this.#head.length
    if (left > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(end, end + left)])
    this.#isBetween = end === bytes.length
    this.#endsWithLineFeed = !this.#isBetween && bytes.at(-1) === lineFeed
  }

  /** Whether the first byte ends an item whose other line feed was the last byte before. */
  #endsAtOnce(piece: Uint8Array): boolean {
    return this.#end.length > 1 && this.#endsWithLineFeed && piece[0] === lineFeed
  }

  #note(item: Buffer): void {
    // In a text of JSON the quotes would be escaped.
    const sequence = /"sequence":(\d+)/.exec(item.toString("latin1"))?.[1]
    if (sequence !== undefined) this.#sequence = Number(sequence)
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)
