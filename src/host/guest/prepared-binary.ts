/**
 * Changes a module's binary before it is compiled, so that what it takes of the host is limited. Functions, tables, globals and the memory keep
 * their indices, so the code stays as it is, byte for byte:
 * - its memory is imported, so each instance gets a limit of its own, whatever the module declares;
 * - tables cannot grow: they are outside of the memory limit, and no guest needs it.
 *
 * Only the sections that matter for this are read; the engine validates the rest. It trusts nothing and throws {@link WasmFormatError}.
 */

/** The bytes are not WebAssembly (`malformed`), or use a part of it that guests do not get (`unsupported`). */
export class WasmFormatError extends Error {
  readonly fault: "malformed" | "unsupported"

  constructor(fault: WasmFormatError["fault"], message: string) {
    super(message)
    this.fault = fault
  }
}

interface PreparedBinary {
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Of the memory that the module declares, in pages of 64 KiB. */
  readonly minimumPages: number
  readonly maximumPages: number | undefined
}

/** Where the memory is imported from. The import is the last one. */
export const hostModule = "kubereel"
export const memoryName = "memory"

/** Elements of all tables: Go's standard library needs 6,000, and an element costs the host some 10 bytes outside of the memory limit. */
const maximumTableElements = 100_000

/** Numbers of sections in the binary format, and the order in which a module has them: that of tags (13) lies between others. */
const sectionIds = { custom: 0, type: 1, import: 2, table: 4, memory: 5 } as const
const order = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11]
/** The kind of an import that is a memory. */
const memoryKind = 2

/** `bytes` begin as a core module of version 1 does. */
export const prepareBinary = (bytes: Uint8Array): PreparedBinary => {
  const sections = sectionsOf(bytes)
  const reader = (id: number): WasmReader | undefined => {
    const section = sections.find((each) => each.id === id)
    return section && new WasmReader(bytes, section.content, section.end)
  }
  refuseGarbageCollectedTypes(reader(sectionIds.type))
  const memory = reader(sectionIds.memory)
  if (memory === undefined) throw unsupported("it has no memory of its own; the ABI has one")
  if (memory.u32() !== 1) throw unsupported("it has several memories; the ABI has one")
  const limitsStart = memory.at
  const { minimum, maximum } = limitsOf(memory, "memory")
  const imported = concatenated(
    name(hostModule),
    name(memoryName),
    [memoryKind],
    bytes.subarray(limitsStart, memory.at),
  )
  const tables = reader(sectionIds.table)
  const contents = new Map<number, Uint8Array | undefined>([
    [sectionIds.import, withEntry(reader(sectionIds.import), imported)],
    [sectionIds.memory, undefined],
  ])
  if (tables !== undefined) contents.set(sectionIds.table, fixedTables(tables))
  return { bytes: rebuilt(bytes, sections, contents), minimumPages: minimum, maximumPages: maximum }
}

interface WasmSection {
  readonly id: number
  /** Offsets of its number, of its content, and behind it. */
  readonly start: number
  readonly content: number
  readonly end: number
}

const sectionsOf = (bytes: Uint8Array): ReadonlyArray<WasmSection> => {
  const reader = new WasmReader(bytes, 8, bytes.length)
  const sections: WasmSection[] = []
  while (!reader.isAtEnd) {
    const start = reader.at
    const id = reader.byte()
    const length = reader.u32()
    const content = reader.at
    reader.skip(length)
    // The engine refuses it too, but only one of the two would have been looked at here.
    if (id !== sectionIds.custom && sections.some((each) => each.id === id))
      throw reader.malformed(`section ${id} occurs twice`)
    sections.push({ id, start, content, end: reader.at })
  }
  return sections
}

/** Their objects would be outside of the memory limit. */
const refuseGarbageCollectedTypes = (reader: WasmReader | undefined): void => {
  if (reader === undefined) return
  for (let left = reader.u32(); left > 0; left--) {
    const form = reader.byte()
    if (form >= 0x4e && form <= 0x5f) throw unsupported("it has garbage-collected types, which guests do not get")
    if (form !== 0x60) throw reader.malformed(`${form} is no form of type`)
    // Parameters, then results.
    for (let list = 0; list < 2; list++) for (let types = reader.u32(); types > 0; types--) skipValueType(reader)
  }
}

const skipValueType = (reader: WasmReader): void => {
  const type = reader.byte()
  // A reference to a type, whose number follows.
  if (type === 0x63 || type === 0x64) reader.skipInteger()
}

const limitsOf = (reader: WasmReader, what: string) => {
  const flags = reader.byte()
  if ((flags & 2) !== 0) throw unsupported(`its ${what} is shared between threads, which guests do not have`)
  if ((flags & 4) !== 0) throw unsupported(`its ${what} has 64-bit addresses; the ABI has 32`)
  if (flags > 1) throw unsupported(`its ${what} has limits of a form (${flags}) that guests do not get`)
  return { minimum: reader.u32(), maximum: flags === 0 ? undefined : reader.u32() }
}

/** The content of the section of tables, each of them with its first size as the largest. */
const fixedTables = (reader: WasmReader): Uint8Array => {
  const count = reader.u32()
  const parts: Array<Uint8Array | number[]> = [unsigned(count)]
  let elements = 0
  for (let table = 0; table < count; table++) {
    const start = reader.at
    if (reader.bytes[start] === 0x40) throw unsupported("it has tables whose first elements are computed")
    skipValueType(reader)
    const type = reader.bytes.subarray(start, reader.at)
    const { minimum } = limitsOf(reader, "table")
    elements += minimum
    parts.push(type, [1], unsigned(minimum), unsigned(minimum))
  }
  if (elements > maximumTableElements)
    throw unsupported(`its tables have ${elements} elements, of ${maximumTableElements} at most`)
  return concatenated(...parts)
}

/** The content of a section with one more entry, the last. */
const withEntry = (reader: WasmReader | undefined, entry: Uint8Array): Uint8Array => {
  if (reader === undefined) return concatenated([1], entry)
  const count = reader.u32()
  return concatenated(unsigned(count + 1), reader.rest, entry)
}

/** A binary with new contents of sections; `undefined` leaves a section out. */
const rebuilt = (
  bytes: Uint8Array,
  sections: ReadonlyArray<WasmSection>,
  contents: ReadonlyMap<number, Uint8Array | undefined>,
): Uint8Array<ArrayBuffer> => {
  const parts = sections
    .filter(({ id }) => !contents.has(id))
    .map(({ id, start, end }) => ({ id, part: bytes.subarray(start, end) }))
  for (const [id, content] of contents) {
    if (content === undefined) continue
    // Custom sections may be anywhere, so they stay before the section that they preceded.
    const next = parts.findIndex((other) => order.indexOf(other.id) > order.indexOf(id))
    parts.splice(next < 0 ? parts.length : next, 0, { id, part: concatenated([id], unsigned(content.length), content) })
  }
  return concatenated(bytes.subarray(0, 8), ...parts.map(({ part }) => part))
}

const unsupported = (what: string): WasmFormatError => new WasmFormatError("unsupported", what)

const concatenated = (...parts: ReadonlyArray<Uint8Array | number[]>): Buffer<ArrayBuffer> =>
  Buffer.concat(parts.map((part) => (part instanceof Uint8Array ? part : Uint8Array.from(part))))

/** LEB128. */
const unsigned = (value: number): number[] => {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  bytes.push(rest)
  return bytes
}

/** Of less than 128 bytes. */
const name = (text: string): Uint8Array => concatenated([text.length], Buffer.from(text))

class WasmReader {
  readonly bytes: Uint8Array
  /** The offset of the next byte. */
  at: number
  readonly #end: number

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.bytes = bytes
    this.at = start
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.at === this.#end
  }

  get rest(): Uint8Array {
    return this.bytes.subarray(this.at, this.#end)
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
      if (byte >= 0x80) continue
      if (value < 2 ** 32) return value
      break
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

  malformed(what: string): WasmFormatError {
    return new WasmFormatError("malformed", `${what}, at byte ${this.at}`)
  }
}
