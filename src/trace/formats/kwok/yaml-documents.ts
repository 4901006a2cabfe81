/** Splits a stream of YAML into its documents, by the rule of Kubernetes' own reader: a line that starts with `---` ends one. */

/** A document and its position. */
export interface YamlDocument {
  readonly text: string
  /** Byte of the file at which it starts. */
  readonly offset: number
}

const LINE_FEED = 0x0a
const DASH = 0x2d
/** etcd accepts no object above 1.5 MiB; a longer document is a broken file and must not fill the memory. */
export const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

/** Push bytes, take documents; documents of only white space are skipped. Memory is one document. */
export class YamlDocuments {
  #parts: Uint8Array[] = []
  #length = 0
  #offset = 0
  /** The bytes since the last line feed, in parts: the start of a line may arrive in pieces. */
  #line: Uint8Array[] = []
  #lineLength = 0;

  /** The documents that end within these bytes. The bytes are copied. */
  *push(chunk: Uint8Array): Generator<YamlDocument> {
    let start = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      this.#hold(chunk.subarray(start, end + 1))
      start = end + 1
      yield* this.#endLine()
    }
    if (start < chunk.length) this.#hold(chunk.subarray(start))
  }

  /** The document at the end of the file, if any. */
  *end(): Generator<YamlDocument> {
    yield* this.#endLine()
    yield* this.#document()
  }

  /** Whether the current document is longer than any can be. */
  get isTooLong(): boolean {
    return this.#length + this.#lineLength > MAX_DOCUMENT_BYTES
  }

  /** Byte at which the current document starts. */
  get offset(): number {
    return this.#offset
  }

  #hold(bytes: Uint8Array): void {
    this.#line.push(new Uint8Array(bytes))
    this.#lineLength += bytes.length
  }

  *#endLine(): Generator<YamlDocument> {
    const line = this.#line.length === 1 ? (this.#line[0] as Uint8Array) : Buffer.concat(this.#line)
    this.#line = []
    this.#lineLength = 0
    if (line[0] === DASH && line[1] === DASH && line[2] === DASH) {
      yield* this.#document()
      this.#offset += line.length
      return
    }
    this.#parts.push(line)
    this.#length += line.length
  }

  *#document(): Generator<YamlDocument> {
    const offset = this.#offset
    const text = Buffer.concat(this.#parts).toString("utf8")
    this.#offset += this.#length
    this.#parts = []
    this.#length = 0
    if (text.trim() !== "") yield { text, offset }
  }
}
