/** The rewriter of modules: what it adds is there, and everything else is as it was. */

import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { ModuleRewriter } from "../../../../src/host/guest/wasm/module-rewriter.ts"
import { readModule } from "../../../../src/host/guest/wasm/wasm-module.ts"
import { WasmFormatError } from "../../../../src/host/guest/wasm/wasm-reader.ts"
import { assemble, errorOf } from "../test-guests.ts"

/** A module of random parts, and what they are. */
const modules = fc.record(
  {
    imports: fc.integer({ min: 0, max: 4 }),
    functions: fc.array(fc.integer({ min: -1000, max: 1000 }), { maxLength: 6 }),
    tables: fc.array(fc.tuple(fc.integer({ min: 0, max: 200 }), fc.option(fc.integer({ min: 0, max: 300 }))), {
      maxLength: 2,
    }),
    memory: fc.record({ minimum: fc.integer({ min: 0, max: 3 }), more: fc.option(fc.integer({ min: 0, max: 4 })) }),
    globals: fc.array(
      fc.tuple(fc.constantFrom("i32", "i64", "f32", "f64"), fc.boolean(), fc.integer({ min: 0, max: 99 })),
      {
        maxLength: 5,
      },
    ),
    exported: fc.boolean(),
    start: fc.boolean(),
    data: fc.boolean(),
    tag: fc.boolean(),
  },
  { noNullPrototype: true },
)
type Parts = typeof modules extends fc.Arbitrary<infer Value> ? Value : never

const textOf = (parts: Parts): string => {
  const { imports, functions, tables, memory, globals, start } = parts
  const maximum = memory.more === null ? "" : ` ${memory.minimum + memory.more}`
  return `(module
    ${Array.from({ length: imports }, (_, index) => `(import "m" "i${index}" (func (param i32)))`).join("")}
    (memory ${memory.minimum}${maximum})
    ${tables.map(([minimum, more]) => `(table ${minimum} ${more === null ? "" : minimum + more} funcref)`).join("")}
    ${globals.map(([type, isMutable, value]) => `(global ${isMutable ? `(mut ${type})` : type} (${type}.const ${value}))`).join("")}
    ${parts.tag ? "(tag)" : ""}
    ${functions.map((value, index) => `(func ${parts.exported ? `(export "f${index}")` : ""} (result i32) (i32.const ${value}))`).join("")}
    ${start ? "(func $start (i32.store8 (i32.const 0) (i32.const 1))) (start $start)" : ""}
    ${parts.data && memory.minimum > 0 ? '(data (i32.const 9) "data")' : ""})`
}

const importsOf = (memory?: WebAssembly.Memory) => ({
  m: Object.fromEntries(Array.from({ length: 4 }, (_, index) => [`i${index}`, () => undefined])),
  ...(memory && { host: { memory } }),
})

describe("A rewritten module", () => {
  test("has what was added, at the values that it had, and keeps what it had", () => {
    fc.assert(
      fc.property(modules, (parts) => {
        const bytes = assemble(textOf(parts))
        const found = readModule(bytes)
        const rewriter = new ModuleRewriter(bytes, found)
        rewriter.importMemory("host", "memory")
        rewriter.exportStart("begin")
        rewriter.fixTables()
        for (const { index } of found.globals) rewriter.addExport(`g${index}`, "global", index)
        const rewritten = rewriter.bytes()

        const maximum = parts.memory.more === null ? 10 : parts.memory.minimum + parts.memory.more
        const memory = new WebAssembly.Memory({ initial: parts.memory.minimum, maximum })
        // A start function that was run would trap in a memory without a page.
        const { exports } = new WebAssembly.Instance(new WebAssembly.Module(rewritten), importsOf(memory))
        for (const [index, [type, , value]] of parts.globals.entries()) {
          const global = exports[`g${index}`] as WebAssembly.Global
          expect(global.value).toBe(type === "i64" ? BigInt(value) : value)
        }
        for (const [index, value] of parts.functions.entries())
          if (parts.exported) expect((exports[`f${index}`] as () => number)()).toBe(value)
        const held = Buffer.from(memory.buffer)
        if (parts.memory.minimum > 0) {
          expect(held.subarray(9, 13).toString()).toBe(parts.data ? "data" : "\0\0\0\0")
          expect(held[0]).toBe(0)
          if (parts.start) (exports.begin as () => void)()
          expect(held[0]).toBe(parts.start ? 1 : 0)
        }

        const after = readModule(rewritten)
        expect(after.imports).toEqual([...found.imports, { module: "host", name: "memory", kind: "memory" }])
        expect(after.exports.slice(0, found.exports.length)).toEqual(found.exports)
        expect(after.tables.map(({ minimum, maximum }) => [minimum, maximum])).toEqual(
          found.tables.map(({ minimum }) => [minimum, minimum]),
        )
        expect([after.memories, after.start]).toEqual([[], undefined])
        expect(after.globals).toEqual(found.globals)
      }),
    )
  })

  test("is the same, byte for byte, if nothing was asked for", () => {
    fc.assert(
      fc.property(modules, (parts) => {
        const bytes = assemble(textOf(parts))
        expect(Buffer.from(new ModuleRewriter(bytes, readModule(bytes)).bytes())).toEqual(Buffer.from(bytes))
      }),
    )
  })

  test("has room for more than 127 exports and for names of more than 127 bytes", () => {
    const globals = Array.from({ length: 300 }, (_, index) => `(global (mut i32) (i32.const ${index}))`)
    const bytes = assemble(`(module ${globals.join("")})`)
    const rewriter = new ModuleRewriter(bytes, readModule(bytes))
    const nameOf = (index: number) => `${"ü".repeat(100)}${index}`
    for (const index of globals.keys()) rewriter.addExport(nameOf(index), "global", index)
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(rewriter.bytes()))
    expect(globals.map((_, index) => (exports[nameOf(index)] as WebAssembly.Global).value)).toEqual([...globals.keys()])
  })
})

describe("A module is read", () => {
  test("with the signatures of what it imports and exports", () => {
    const { imports, exports } = readModule(
      assemble(`(module
        (import "a" "b" (func (param i32 i64 f32 f64)))
        (import "a" "c" (func (param externref) (result v128)))
        (import "a" "g" (global (mut i64))) (import "a" "t" (table 1 funcref))
        (func $f (export "f") (result i32 i64) (i32.const 1) (i64.const 2))
        (global $h (export "h") i32 (i32.const 1)))`),
    )
    expect(imports).toEqual([
      { module: "a", name: "b", kind: "function", signature: "iIfF>" },
      { module: "a", name: "c", kind: "function", signature: "r>V" },
      { module: "a", name: "g", kind: "global" },
      { module: "a", name: "t", kind: "table" },
    ])
    expect(exports).toEqual([
      { name: "f", kind: "function", index: 2, signature: ">iI" },
      { name: "h", kind: "global", index: 1 },
    ])
  })

  test("with globals behind those that it imports, whatever computes their first values", () => {
    const { globals } = readModule(
      assemble(`(module
        (import "a" "g" (global $g i32))
        (global (mut i32) (i32.add (global.get $g) (i32.const -1)))
        (global (mut i64) (i64.const -9223372036854775808))
        (global (mut f64) (f64.const 1.5))
        (global (mut v128) (v128.const i64x2 -1 11))
        (global (mut funcref) (ref.func $f))
        (global externref (ref.null extern))
        (func $f (export "f")))`),
    )
    const types = ["i32", "i64", "f64", "other", "other", "other"]
    expect(globals.map(({ index, type }) => [index, type])).toEqual(types.map((type, index) => [index + 1, type]))
    expect(globals.map(({ isMutable }) => isMutable)).toEqual([true, true, true, true, true, false])
  })

  test("only if no section occurs twice", () => {
    const empty = Buffer.from("0061736d01000000", "hex")
    const memory = Buffer.of(5, 3, 1, 0, 1)
    expect(readModule(Buffer.concat([empty, memory])).memories).toEqual([{ minimum: 1 }])
    const error = errorOf(WasmFormatError, () => readModule(Buffer.concat([empty, memory, memory])))
    expect(error.message).toContain("section 5 occurs twice")
  })

  test("only if integers have 32 bits", () => {
    const withMinimum = (...leb: number[]) =>
      Buffer.concat([Buffer.from("0061736d01000000", "hex"), Buffer.of(5, 2 + leb.length, 1, 0, ...leb)])
    expect(readModule(withMinimum(0xff, 0xff, 0xff, 0xff, 0x0f)).memories).toEqual([{ minimum: 2 ** 32 - 1 }])
    for (const leb of [
      [0xff, 0xff, 0xff, 0xff, 0x1f],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
    ])
      expect(errorOf(WasmFormatError, () => readModule(withMinimum(...leb))).message).toContain("more than 32 bits")
  })
})
