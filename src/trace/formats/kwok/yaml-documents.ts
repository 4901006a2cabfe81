/** Splits a stream of YAML into its documents, by the rule of Kubernetes' own reader: a line that starts with `---` ends one. */

import * as Schema from "effect/Schema"
import { isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type Scalar } from "yaml"
import { type JsonValue, MAX_DEPTH, MalformedJsonError, parseExactJson, withProperty } from "../../json/exact-json.ts"

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

/** Why a document cannot be read as a value. */
export class YamlValueError extends Schema.TaggedError<YamlValueError>()("YamlValueError", {
  /** UTF-16 code units from the start of the document. */
  offset: Schema.Int,
  /** Quotes content only where the YAML parser's message does. */
  detail: Schema.String,
}) {
  override get message(): string {
    return this.detail
  }
}

/**
 * The value of one document. Numbers are read from their digits, so that large integers and `1.0` stay unchanged.
 * Anchors and custom tags are rejected: no writer of these files uses them, and an anchor can expand to gigabytes.
 * @throws YamlValueError
 */
export const yamlValue = (text: string): JsonValue => {
  const document = parseDocument(text, { intAsBigInt: true, prettyErrors: false, strict: true, uniqueKeys: true })
  const [error] = document.errors
  // The library recurses with the nesting, and a few hundred levels exhaust its stack.
  if (error?.code === "RESOURCE_EXHAUSTION") throw new YamlValueError({ offset: 0, detail: "it is nested too deeply" })
  if (error !== undefined) throw new YamlValueError({ offset: error.pos[0], detail: error.message })
  return document.contents === null ? null : nodeValue(document.contents, 0)
}

const nodeValue = (node: Node | null | undefined, depth: number): JsonValue => {
  const at = node?.range?.[0] ?? 0
  if (node === null || node === undefined) return null
  if (isAlias(node)) throw new YamlValueError({ offset: at, detail: "an alias" })
  if (isScalar(node)) return scalarOf(node, at)
  if (depth >= MAX_DEPTH) throw new YamlValueError({ offset: at, detail: `more than ${MAX_DEPTH} levels` })
  if (isSeq(node)) return node.items.map((item) => nodeValue(item as Node | null, depth + 1))
  if (!isMap(node)) throw new YamlValueError({ offset: at, detail: "a node that is not a map, list or scalar" })
  let object: Record<string, JsonValue> = {}
  for (const { key, value } of node.items) {
    if (!isScalar(key)) throw new YamlValueError({ offset: at, detail: "a key that is not a string" })
    object = withProperty(object, keyOf(key), nodeValue(value as Node | null, depth + 1))
  }
  return object
}

/** Kubernetes' reader accepts any scalar as a key, with its source text. */
const keyOf = (key: Scalar): string => (typeof key.value === "string" ? key.value : (key.source ?? String(key.value)))

const scalarOf = (node: Scalar, at: number): JsonValue => {
  const { value, source } = node
  if (value === null || typeof value === "boolean" || typeof value === "string") return value
  if (typeof value !== "number" && typeof value !== "bigint")
    throw new YamlValueError({ offset: at, detail: "a scalar of another type" })
  try {
    return parseExactJson(source ?? String(value))
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    // Hexadecimal, a leading plus or dot: numbers that JSON writes differently.
    if (typeof value === "number" && !Number.isFinite(value))
      throw new YamlValueError({ offset: at, detail: "a number that is not finite" })
    return numberOf(String(value), at)
  }
}

/** Integers may be longer than those of any trace: exact JSON has a limit. */
const numberOf = (text: string, at: number): JsonValue => {
  try {
    return parseExactJson(text)
  } catch (error) {
    if (!(error instanceof MalformedJsonError)) throw error
    throw new YamlValueError({
      offset: at,
      detail: `a number of ${text.length} characters, beyond what a trace can hold`,
    })
  }
}
