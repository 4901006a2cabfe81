/**
 * Changes to a module's binary, so that its host can reach what the module keeps to itself. Functions, tables, globals and the memory keep
 * their indices, so the code stays as it is, byte for byte.
 */
import { type ExternalKind, externalKinds, sectionIds, type WasmModule } from "./wasm-module.ts"
import { WasmReader } from "./wasm-reader.ts"

/** Sections in the order in which a module has them: the section of tags (13) lies between others, and 12 before 10. */
const order = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11]

/** Changes that apply together; `bytes` can be called at any time. */
export class ModuleRewriter {
  readonly #bytes: Uint8Array
  readonly #module: WasmModule
  readonly #imports: Uint8Array[] = []
  readonly #exports: Uint8Array[] = []
  /** New contents of sections; `undefined` leaves the section out. */
  readonly #contents = new Map<number, ReadonlyArray<Uint8Array> | undefined>()

  /** @param module what `readModule` found in the bytes, which are not changed. */
  constructor(bytes: Uint8Array, module: WasmModule) {
    this.#bytes = bytes
    this.#module = module
  }

  /** Adds an export. The engine refuses the module if the name is taken. */
  addExport(name: string, kind: ExternalKind, index: number): void {
    this.#exports.push(bytesOf(name, [externalKinds.indexOf(kind)], unsigned(index)))
  }

  /** Turns the only memory of a module into one that it imports, with the limits that it had. */
  importMemory(module: string, name: string): void {
    const section = this.#module.sections.find(({ id }) => id === sectionIds.memory)
    if (section === undefined || this.#module.memories.length !== 1) throw new Error("the module has not one memory")
    const reader = new WasmReader(this.#bytes, section.content, section.end)
    reader.u32()
    const limits = this.#bytes.subarray(reader.at, section.end)
    this.#imports.push(bytesOf(module, name, [externalKinds.indexOf("memory")], limits))
    this.#contents.set(sectionIds.memory, undefined)
  }

  /** Exports the start function, which then does not run when the module is instantiated. Nothing happens if there is none. */
  exportStart(name: string): void {
    if (this.#module.start === undefined) return
    this.addExport(name, "function", this.#module.start)
    this.#contents.set(sectionIds.start, undefined)
  }

  /** Lets no table of the module grow. */
  fixTables(): void {
    const section = this.#module.sections.find(({ id }) => id === sectionIds.table)
    if (section === undefined) return
    const parts: Uint8Array[] = []
    let at = section.content
    for (const { limitsStart, limitsEnd, minimum } of this.#module.tables) {
      parts.push(this.#bytes.subarray(at, limitsStart), bytesOf([1], unsigned(minimum), unsigned(minimum)))
      at = limitsEnd
    }
    parts.push(this.#bytes.subarray(at, section.end))
    this.#contents.set(sectionIds.table, parts)
  }

  /** A new binary. */
  bytes(): Uint8Array {
    const contents = new Map(this.#contents)
    if (this.#imports.length > 0) contents.set(sectionIds.import, this.#extended(sectionIds.import, this.#imports))
    if (this.#exports.length > 0) contents.set(sectionIds.export, this.#extended(sectionIds.export, this.#exports))
    const pending = order.filter((id) => contents.get(id) !== undefined)
    const parts: Uint8Array[] = [this.#bytes.subarray(0, 8)]
    const writePending = (before: number): void => {
      while (pending[0] !== undefined && order.indexOf(pending[0]) <= before) {
        const id = pending.shift() as number
        const content = contents.get(id) ?? []
        const length = content.reduce((sum, part) => sum + part.length, 0)
        parts.push(bytesOf([id], unsigned(length)), ...content)
      }
    }
    for (const section of this.#module.sections) {
      writePending(order.indexOf(section.id))
      if (!contents.has(section.id)) parts.push(this.#bytes.subarray(section.start, section.end))
    }
    writePending(order.length)
    return Buffer.concat(parts)
  }

  /** The content of a section with entries behind those that it has. */
  #extended(id: number, added: ReadonlyArray<Uint8Array>): ReadonlyArray<Uint8Array> {
    const section = this.#module.sections.find((each) => each.id === id)
    if (section === undefined) return [unsigned(added.length), ...added]
    const reader = new WasmReader(this.#bytes, section.content, section.end)
    const count = reader.u32()
    return [unsigned(count + added.length), this.#bytes.subarray(reader.at, section.end), ...added]
  }
}

/** LEB128. */
const unsigned = (value: number): Uint8Array => {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) + 0x80)
  bytes.push(rest)
  return Uint8Array.from(bytes)
}

/** Strings become names: their length and their UTF-8. */
const bytesOf = (...parts: ReadonlyArray<string | Uint8Array | number[]>): Uint8Array =>
  Buffer.concat(
    parts.map((part) => {
      if (typeof part !== "string") return Uint8Array.from(part)
      const text = Buffer.from(part)
      return Buffer.concat([unsigned(text.length), text])
    }),
  )
