/**
 * Protobuf messages as tables of their fields: for everything that is rare compared with events, whose columns the builder and the reader of frames handle
 * themselves. Generated code would create an object for each event.
 *
 * Numbers are always written, an empty string and `false` never; a field that is absent is `undefined` when it is read.
 */
import protobuf from "protobufjs/minimal.js"

/** What a field has. A `span` is bytes that are located and not copied, `many…` is a repeated field. */
interface Values {
  uint32: number
  double: number
  bool: boolean
  string: string
  bytes: Uint8Array
  /** An unsigned integer of 64 bits. */
  fixed64: bigint
  span: Span
  manyStrings: Array<string>
  manyNumbers: Array<number>
  manySpans: Array<Span>
}

/** Position of a length-delimited field's content. */
export interface Span {
  readonly start: number
  readonly length: number
}

/** Number and content of each field, by its name. */
type Fields = Readonly<Record<string, readonly [number: number, content: keyof Values]>>

type ContentOf<F extends Fields> = { -readonly [Name in keyof F]?: Values[F[Name][1]] | undefined }

const wireTypes: Readonly<Partial<Record<keyof Values, number>>> = { uint32: 0, bool: 0, double: 1, fixed64: 1 }

/** A tag, or a length, has at most 5 bytes, and a tag of ours 2. */
const headerBytes = 7

/** UTF-8 needs at most three bytes for one UTF-16 unit. */
export const utf8BytesPerUnit = 3

/** One kind of message. */
export class Message<const F extends Fields> {
  /** Wire tag of each field: `field number << 3 | wire type`. */
  readonly tags: Readonly<Record<keyof F, number>>
  readonly #fields: ReadonlyArray<readonly [name: keyof F & string, tag: number, content: keyof Values]>
  readonly #byTag: Array<readonly [name: string, content: keyof Values] | undefined> = []
  readonly #last: number

  constructor(fields: F) {
    this.#fields = Object.entries(fields).map(([name, [number, content]]) => {
      const tag = (number << 3) | (wireTypes[content] ?? 2)
      this.#byTag[tag] = [name, content]
      return [name, tag, content]
    })
    this.#last = Math.max(...this.#fields.map(([, tag]) => tag >>> 3))
    this.tags = Object.fromEntries(this.#fields.map(([name, tag]) => [name, tag])) as Record<keyof F, number>
  }

  /** Upper bound of its bytes as a field of another message. */
  byteLength(message: ContentOf<F>): number {
    let bytes = headerBytes
    for (const [name] of this.#fields) {
      const value: unknown = message[name]
      if (value === undefined) continue
      if (typeof value === "string") bytes += headerBytes + value.length * utf8BytesPerUnit
      else if (value instanceof Uint8Array) bytes += headerBytes + value.length
      else bytes += 2 + 8
    }
    return bytes
  }

  /** Writes it as the field with this tag of another message. */
  writeField(writer: protobuf.Writer, tag: number, message: ContentOf<F>): void {
    writer.uint32(tag).fork()
    this.write(writer, message)
    writer.ldelim()
  }

  write(writer: protobuf.Writer, message: ContentOf<F>): void {
    for (const [name, tag, content] of this.#fields) {
      const value: unknown = message[name]
      if (typeof value === "string") {
        if (value !== "") writer.uint32(tag).string(value)
      } else if (typeof value === "number") writer.uint32(tag)[content === "double" ? "double" : "uint32"](value)
      else if (value === true) writer.uint32(tag).bool(true)
      else if (typeof value === "bigint") writer.uint32(tag).raw(fixed64Bytes(value))
      else if (value instanceof Uint8Array) writer.uint32(tag).bytes(value)
      else if (Array.isArray(value)) writeAll(writer, tag, content, value)
    }
  }

  /**
   * Reads from the reader's position up to `end`. Fields of a newer writer are skipped. Bytes are views.
   *
   * @throws RangeError, Error: the bytes are not such a message. A known number with another wire type is damage
   */
  read(reader: protobuf.Reader, end = reader.len): ContentOf<F> {
    const message: Record<string, Values[keyof Values]> = {}
    while (reader.pos < end) {
      const tag = reader.uint32()
      const field = this.#byTag[tag]
      if (field === undefined) {
        if (tag >>> 3 <= this.#last)
          throw new RangeError(`field ${tag >>> 3} with wire type ${tag & 7} at offset ${reader.pos}`)
        reader.skipType(tag & 7)
      } else message[field[0]] = readValue(reader, field[1], message[field[0]])
    }
    return message as ContentOf<F>
  }
}

const writeAll = (
  writer: protobuf.Writer,
  tag: number,
  content: keyof Values,
  values: ReadonlyArray<unknown>,
): void => {
  if (content !== "manyNumbers") for (const each of values) writer.uint32(tag).string(String(each))
  else if (values.length > 0) {
    writer.uint32(tag).fork()
    for (const each of values) writer.uint32(Number(each))
    writer.ldelim()
  }
}

/** `before`: what a repeated field has so far. */
const readValue = (reader: protobuf.Reader, content: keyof Values, before: unknown): Values[keyof Values] => {
  switch (content) {
    case "uint32":
      return reader.uint32()
    case "double":
      return reader.double()
    case "bool":
      return reader.bool()
    case "string":
      return reader.string()
    case "bytes":
      return reader.bytes()
    case "fixed64":
      return BigInt(reader.fixed32()) | (BigInt(reader.fixed32()) << 32n)
    case "span":
      return spanAt(reader)
    case "manyStrings":
      return appended(before, reader.string())
    case "manySpans":
      return appended(before, spanAt(reader))
    case "manyNumbers": {
      const end = reader.uint32() + reader.pos
      const numbers: Array<number> = Array.isArray(before) ? before : []
      while (reader.pos < end) numbers.push(reader.uint32())
      return numbers
    }
  }
}

const appended = <Value>(before: unknown, value: Value): Array<Value> => {
  const values: Array<Value> = Array.isArray(before) ? before : []
  values.push(value)
  return values
}

/** The content of the length-delimited field at the reader's position; the reader moves past it. */
const spanAt = (reader: protobuf.Reader): Span => {
  const length = reader.uint32()
  const start = reader.pos
  reader.skip(length)
  return { start, length }
}

/** protobufjs's own `fixed64` wants a Long. */
const fixed64Bytes = (value: bigint): Uint8Array => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return bytes
}

/** A reader of a part of some bytes. Always on a Buffer: protobufjs then reads strings natively. */
export const readerOf = (
  bytes: Uint8Array,
  { start, length }: Span = { start: 0, length: bytes.length },
): protobuf.Reader => {
  const reader = protobuf.Reader.create(Buffer.from(bytes.buffer, bytes.byteOffset, start + length))
  reader.pos = start
  return reader
}
