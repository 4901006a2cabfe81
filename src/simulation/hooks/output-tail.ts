/** The end of what a program writes, in a bounded number of bytes: the end has the reason of a failure. */
import { StringDecoder } from "node:string_decoder"

/** Takes chunks, and has the end of them. */
export class OutputTail {
  readonly #limit: number
  #bytes = Buffer.alloc(0)
  #isCut = false

  /** `limit`: bytes of UTF-8 that are kept. */
  constructor(limit: number) {
    this.#limit = limit
  }

  add(chunk: Buffer): void {
    const all = Buffer.concat([this.#bytes, chunk.subarray(Math.max(0, chunk.length - this.#limit))])
    const cut = Math.max(0, all.length - this.#limit)
    this.#isCut ||= cut > 0 || chunk.length > this.#limit
    this.#bytes = Buffer.from(all.subarray(cut))
  }

  /** At most as many bytes of UTF-8 as the limit, beginning and ending with whole characters; NULs, which etcd's text cannot show, are left out. */
  get text(): string {
    let from = 0
    // Continuation bytes at the start belong to a character that was cut.
    if (this.#isCut) while (from < 3 && ((this.#bytes[from] ?? 0) & 0xc0) === 0x80) from++
    const text = new StringDecoder("utf8").write(this.#bytes.subarray(from)).replaceAll("\0", "")
    // A byte that is no UTF-8 becomes a character of three.
    const bytes = Buffer.from(text)
    return bytes.length <= this.#limit ? text : new OutputTail(this.#limit).#of(bytes)
  }

  #of(bytes: Buffer): string {
    this.#isCut = true
    this.add(bytes)
    return this.text
  }
}
