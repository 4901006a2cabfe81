/** Splits a stream of YAML into its documents, by the rule of Kubernetes' own reader: a line that starts with `---` ends one. */

/** A document and its position. */
export interface YamlDocument {
  readonly text: string
  /** Byte of the file at which it starts. */
  readonly offset: number
}

const LINE_FEED = 0x0a
const SEPARATOR = Buffer.from("---")
/** A separator after the line before it. */
const LINE_AND_SEPARATOR = Buffer.from("\n---")
/** etcd accepts no object above 1.5 MiB; a longer document is a broken file and must not fill the memory. */
export const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024

/**
 * Push bytes, take documents; documents of only white space are skipped. Memory is one document. Only the places of separators are looked for:
 * a file of 50 MB of empty lines, taken line by line, filled gigabytes.
 */
export class YamlDocuments {
  #parts: Uint8Array[] = []
  #length = 0
  /** Byte at which the current document starts. */
  #offset = 0
  #isInSeparator = false
  /** Whether the next byte begins a line. */
  #isLineStart = true
  /** The last bytes, at most three: the following ones may make them a separator. */
  #held: Uint8Array = new Uint8Array(0);

  /** The documents that end within these bytes. The bytes are copied. */
  *push(chunk: Uint8Array): Generator<YamlDocument> {
    const bytes = Buffer.concat([this.#held, chunk])
    this.#held = bytes.subarray(0, 0)
    for (let at = 0; at < bytes.length; ) {
      if (this.#isInSeparator) at = this.#skipSeparator(bytes, at)
      else {
        const separator = this.#separatorFrom(bytes, at)
        if (separator === undefined) return this.#hold(bytes, at)
        this.#take(bytes.subarray(at, separator))
        yield* this.#document()
        this.#isInSeparator = true
        at = separator
      }
    }
  }

  /** The document at the end of the file, if any. */
  *end(): Generator<YamlDocument> {
    this.#take(this.#held)
    yield* this.#document()
  }

  /** Whether the current document is longer than any can be. */
  get isTooLong(): boolean {
    return this.#length > MAX_DOCUMENT_BYTES
  }

  /** Byte at which the current document starts. */
  get offset(): number {
    return this.#offset
  }

  /** Where the line after a separator starts, in which nothing but comments may stand. */
  #skipSeparator(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(LINE_FEED, at)
    this.#isInSeparator = end < 0
    this.#isLineStart = end >= 0
    const next = end < 0 ? bytes.length : end + 1
    this.#offset += next - at
    return next
  }

  #separatorFrom(bytes: Buffer, at: number): number | undefined {
    if (this.#isLineStart && SEPARATOR.equals(bytes.subarray(at, at + SEPARATOR.length))) return at
    const before = bytes.indexOf(LINE_AND_SEPARATOR, at)
    return before < 0 ? undefined : before + 1
  }

  /** Takes the rest of the bytes but those that may begin a separator. */
  #hold(bytes: Buffer, at: number): void {
    const isDashes = this.#isLineStart && SEPARATOR.subarray(0, bytes.length - at).equals(bytes.subarray(at))
    const line = bytes.lastIndexOf(LINE_FEED)
    const isOpen = line >= at && LINE_AND_SEPARATOR.subarray(0, bytes.length - line).equals(bytes.subarray(line))
    const kept = isDashes ? at : isOpen ? line : bytes.length
    this.#take(bytes.subarray(at, kept))
    this.#isLineStart = isDashes
    this.#held = new Uint8Array(bytes.subarray(kept))
  }

  #take(bytes: Uint8Array): void {
    if (bytes.length > 0) this.#parts.push(new Uint8Array(bytes))
    this.#length += bytes.length
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
