/**
 * What the host has to know of a module before it compiles it: imports and exports with the signatures of functions, which the JavaScript
 * API does not tell, memories, tables, globals and the start function, and where each section is. Code is not read: the engine validates it.
 */
import { WasmFormatError, WasmReader } from "./wasm-reader.ts"

/** Numbers of sections in the binary format. */
export const sectionIds = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
} as const

/** Numbers of the kinds of imports and exports in the binary format. */
export const externalKinds = ["function", "table", "memory", "global", "tag"] as const
export type ExternalKind = (typeof externalKinds)[number]

/**
 * A function's type as letters: parameters, `>`, results. `i` and `I` are i32 and i64, `f` and `F` are f32 and f64, `V` a vector, `r` a
 * reference.
 */
export type Signature = string

interface WasmSection {
  readonly id: number
  /** Offset of its number. */
  readonly start: number
  /** Offset of its content. */
  readonly content: number
  /** Offset behind it. */
  readonly end: number
}

interface WasmImport {
  readonly module: string
  readonly name: string
  readonly kind: ExternalKind
  /** Of a function. */
  readonly signature?: Signature
}

interface WasmExport {
  readonly name: string
  readonly kind: ExternalKind
  readonly index: number
  /** Of a function. */
  readonly signature?: Signature
}

interface WasmLimits {
  readonly minimum: number
  readonly maximum?: number
}

interface WasmTable extends WasmLimits {
  /** Offsets of its limits in the binary: where they begin, and behind them. */
  readonly limitsStart: number
  readonly limitsEnd: number
}

/** A global that the module defines. */
interface WasmGlobal {
  readonly index: number
  readonly type: "i32" | "i64" | "f32" | "f64" | "other"
  readonly isMutable: boolean
}

export interface WasmModule {
  readonly sections: ReadonlyArray<WasmSection>
  readonly imports: ReadonlyArray<WasmImport>
  readonly exports: ReadonlyArray<WasmExport>
  /** Those that the module defines, sizes in pages of 64 KiB. */
  readonly memories: ReadonlyArray<WasmLimits>
  readonly tables: ReadonlyArray<WasmTable>
  readonly globals: ReadonlyArray<WasmGlobal>
  /** Index of the start function. */
  readonly start?: number
}

/** @throws {WasmFormatError} for anything but a core module of version 1 that uses nothing `unsupported`. */
export const readModule = (bytes: Uint8Array): WasmModule => {
  const sections = sectionsOf(bytes)
  const open = (id: number): WasmReader | undefined => {
    const section = sections.find((each) => each.id === id)
    return section && new WasmReader(bytes, section.content, section.end)
  }
  const types = entriesOf(open(sectionIds.type), readFunctionType)
  const imported = entriesOf(open(sectionIds.import), readImport)
  const defined = entriesOf(open(sectionIds.function), (reader) => reader.u32())
  const functions = [...imported.filter(({ kind }) => kind === "function").map(({ index }) => index), ...defined]
  const withSignature = <Entry extends { kind: ExternalKind }>(entry: Entry, type: number | undefined) => {
    const signature = entry.kind === "function" && type !== undefined ? types[type] : undefined
    return signature === undefined ? entry : { ...entry, signature }
  }
  const importedGlobals = imported.filter(({ kind }) => kind === "global").length
  const start = open(sectionIds.start)?.u32()
  return {
    sections,
    imports: imported.map(({ index, ...entry }) => withSignature(entry, index)),
    exports: entriesOf(open(sectionIds.export), (reader) => {
      const entry = { name: reader.name(), kind: readKind(reader), index: reader.u32() }
      return withSignature(entry, functions[entry.index])
    }),
    memories: entriesOf(open(sectionIds.memory), readMemory),
    tables: entriesOf(open(sectionIds.table), readTable),
    globals: entriesOf(open(sectionIds.global), readGlobal).map((global, index) => ({
      ...global,
      index: importedGlobals + index,
    })),
    ...(start !== undefined && { start }),
  }
}

const sectionsOf = (bytes: Uint8Array): WasmSection[] => {
  const reader = new WasmReader(bytes, 8)
  const sections: WasmSection[] = []
  const known = new Set<number>()
  while (!reader.isAtEnd) {
    const start = reader.at
    const id = reader.byte()
    const length = reader.u32()
    const content = reader.at
    reader.skip(length)
    sections.push({ id, start, content, end: reader.at })
    if (id === sectionIds.custom) continue
    // The engine refuses it too, but only one of the two would have been looked at here.
    if (known.has(id)) throw reader.malformed(`section ${id} occurs twice`)
    known.add(id)
  }
  return sections
}

const entriesOf = <Entry>(reader: WasmReader | undefined, read: (reader: WasmReader) => Entry): Entry[] => {
  if (reader === undefined) return []
  const entries: Entry[] = []
  for (let left = reader.u32(); left > 0; left--) entries.push(read(reader))
  if (!reader.isAtEnd) throw reader.malformed("a section is longer than its entries")
  return entries
}

const unsupported = (what: string): WasmFormatError => new WasmFormatError("unsupported", what)

const readFunctionType = (reader: WasmReader): Signature => {
  const form = reader.byte()
  if (form >= 0x4e && form <= 0x5f) throw unsupported("it has garbage-collected types, which guests do not get")
  if (form !== 0x60) throw reader.malformed(`${form} is no form of type`)
  const list = () => {
    let letters = ""
    for (let left = reader.u32(); left > 0; left--) letters += readValueType(reader)
    return letters
  }
  return `${list()}>${list()}`
}

const readValueType = (reader: WasmReader): string => {
  const type = reader.byte()
  if (type === 0x63 || type === 0x64) reader.skipInteger()
  return numberTypes.get(type)?.letter ?? "r"
}

const numberTypes = new Map<number, { readonly letter: string; readonly type: WasmGlobal["type"] }>([
  [0x7f, { letter: "i", type: "i32" }],
  [0x7e, { letter: "I", type: "i64" }],
  [0x7d, { letter: "f", type: "f32" }],
  [0x7c, { letter: "F", type: "f64" }],
  [0x7b, { letter: "V", type: "other" }],
])

const readKind = (reader: WasmReader): ExternalKind => {
  const number = reader.byte()
  const kind = externalKinds[number]
  if (kind === undefined) throw reader.malformed(`${number} is no kind of import or export`)
  return kind
}

const readImport = (reader: WasmReader) => {
  const entry = { module: reader.name(), name: reader.name(), kind: readKind(reader) }
  if (entry.kind === "function") return { ...entry, index: reader.u32() }
  if (entry.kind === "table") readTable(reader)
  else if (entry.kind === "memory") readMemory(reader)
  else if (entry.kind === "global") {
    readValueType(reader)
    reader.byte()
  } else {
    reader.byte()
    reader.u32()
  }
  return { ...entry, index: 0 }
}

const readLimits = (reader: WasmReader, what: string): WasmLimits => {
  const flags = reader.byte()
  if ((flags & 2) !== 0) throw unsupported(`its ${what} is shared between threads, which guests do not have`)
  if ((flags & 4) !== 0) throw unsupported(`its ${what} has 64-bit addresses; the ABI has 32`)
  if (flags > 1) throw unsupported(`its ${what} has limits of a form (${flags}) that guests do not get`)
  const minimum = reader.u32()
  return flags === 0 ? { minimum } : { minimum, maximum: reader.u32() }
}

const readMemory = (reader: WasmReader): WasmLimits => readLimits(reader, "memory")

const readTable = (reader: WasmReader): WasmTable => {
  const type = readTableType(reader)
  const limitsStart = reader.at
  const limits = readLimits(reader, "table")
  const limitsEnd = reader.at
  if (type.hasInitializer) skipExpression(reader)
  return { ...limits, limitsStart, limitsEnd }
}

const readTableType = (reader: WasmReader): { readonly hasInitializer: boolean } => {
  const hasInitializer = reader.bytes[reader.at] === 0x40
  if (hasInitializer) reader.skip(2)
  readValueType(reader)
  return { hasInitializer }
}

const readGlobal = (reader: WasmReader): Omit<WasmGlobal, "index"> => {
  const type = numberTypes.get(reader.bytes[reader.at] ?? 0)?.type ?? "other"
  readValueType(reader)
  const mutability = reader.byte()
  if (mutability === 2 || mutability === 3) throw unsupported("it has globals that are shared between threads")
  if (mutability > 1) throw reader.malformed(`${mutability} is no mutability`)
  skipExpression(reader)
  return { type, isMutable: mutability === 1 }
}

/** Bytes behind the opcodes of constant expressions; `integer` is a LEB128 integer. */
const immediates = new Map<number, number | "integer">([
  [0x23, "integer"], // global.get
  [0x41, "integer"], // i32.const
  [0x42, "integer"], // i64.const
  [0x43, 4], // f32.const
  [0x44, 8], // f64.const
  [0x6a, 0], // i32.add, i32.sub, i32.mul
  [0x6b, 0],
  [0x6c, 0],
  [0x7c, 0], // i64.add, i64.sub, i64.mul
  [0x7d, 0],
  [0x7e, 0],
  [0xd0, "integer"], // ref.null
  [0xd2, "integer"], // ref.func
])

const skipExpression = (reader: WasmReader): void => {
  for (let opcode = reader.byte(); opcode !== 0x0b; opcode = reader.byte()) {
    const immediate = immediates.get(opcode)
    if (immediate === "integer") reader.skipInteger()
    else if (immediate !== undefined) reader.skip(immediate)
    else if (opcode === 0xfd && reader.u32() === 12)
      reader.skip(16) // v128.const
    else
      throw unsupported(`the first value of a global is computed by an instruction (${opcode}) that guests do not get`)
  }
}
