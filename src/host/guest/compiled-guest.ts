/**
 * From the bytes of a module to something that can be instantiated: its imports and exports are checked against ABI `rust_v1alpha1` and WASI
 * preview 1 first, so that a module of another kind is refused by name and never runs.
 *
 * The binary is changed before it is compiled:
 * - its memory is imported, so that each instance gets a limit of its own and the module cannot ask for more;
 * - mutable globals are exported, because an image needs them and Go exports none;
 * - the start function is exported instead of run, so that restoring an image runs nothing;
 * - tables cannot grow: they are outside of the memory limit, and no guest needs it.
 */
import { createHash } from "node:crypto"
import { messageOf } from "../../message-of.ts"
import { GuestRefused, type Refusal } from "./errors.ts"
import { wasiModule, wasiSignatures } from "./wasi/wasi-functions.ts"
import { ModuleRewriter } from "./wasm/module-rewriter.ts"
import { readModule, type Signature, type WasmModule } from "./wasm/wasm-module.ts"
import { WasmFormatError } from "./wasm/wasm-reader.ts"

/** A module that may be instantiated. Plain data: it can be posted to other threads, which share the compiled code. */
export interface CompiledGuest {
  readonly name: string
  /** SHA-256 of the bytes in hexadecimal. */
  readonly hash: string
  readonly module: WebAssembly.Module
  /** Pages of 64 KiB. */
  readonly minimumPages: number
  /** What the module itself declares. */
  readonly maximumPages?: number
  /** The exports under which mutable globals are found, in the order of their indices. */
  readonly globals: ReadonlyArray<GuestGlobal>
  readonly hasStartFunction: boolean
  readonly hasInitialize: boolean
  /** Why no image can be taken. */
  readonly imageObstacle?: string
}

interface GuestGlobal {
  readonly exportName: string
  readonly type: "i32" | "i64" | "f32" | "f64"
}

/** The module that has the imports that we add, and the prefix of the exports. A guest's own cannot have them. */
export const hostModule = "kubereel"
export const startExport = "kubereel:start"

/** The functions of the ABI that a guest may import. */
const abiImports: ReadonlyMap<string, Signature> = new Map([
  ["http-proxy-abi.request", "ii>I"],
  ["delay-abi.delay", "I>I"],
  ["kube-watch-abi.watch", "ii>I"],
])

/** The functions of the ABI that a guest must export. */
const abiExports: ReadonlyMap<string, Signature> = new Map([
  ["run", ">"],
  ["allocate", "i>i"],
  ["wakeup_future", "Iii>"],
  ["wakeup_stream", "Iii>"],
])

/** Elements of all tables: Go's standard library needs 6,000, and an element costs the host some 10 bytes outside of the memory limit. */
const maximumTableElements = 100_000

/**
 * Checks, rewrites and compiles a module. Synchronous, and the engine compiles functions when they are first called.
 *
 * @param name for messages.
 * @throws {GuestRefused}
 */
export const compileGuest = (bytes: Uint8Array, name: string): CompiledGuest => {
  const refuse = (refusal: Refusal, reason: string, names: ReadonlyArray<string> = []): GuestRefused =>
    new GuestRefused({ guest: name, refusal, reason, names })
  checkPreamble(bytes, refuse)
  try {
    const found = readModule(bytes)
    checkInterface(found, refuse)
    const rewritten = rewrite(bytes, found)
    return {
      name,
      hash: createHash("sha256").update(bytes).digest("hex"),
      module: new WebAssembly.Module(rewritten.bytes),
      ...rewritten.description,
    }
  } catch (cause) {
    if (cause instanceof WasmFormatError) throw refuse(cause.fault, cause.message)
    if (cause instanceof WebAssembly.CompileError) throw refuse("malformed", messageOf(cause))
    throw cause
  }
}

type Refuse = (refusal: Refusal, reason: string, names?: ReadonlyArray<string>) => GuestRefused

const checkPreamble = (bytes: Uint8Array, refuse: Refuse): void => {
  const preamble = Buffer.from(bytes.subarray(0, 8)).toString("hex")
  if (!preamble.startsWith("0061736d")) throw refuse("not-wasm", "it is not WebAssembly")
  if (preamble === "0061736d01000000") return
  // Components have the version in the first half of the field, and layer 1 in the second.
  if (preamble.length === 16 && preamble.endsWith("0100"))
    throw refuse("component", "it is a WebAssembly component; the ABI needs a core module (wasip1)")
  throw refuse("malformed", "it has a version other than 1")
}

const checkInterface = (found: WasmModule, refuse: Refuse): void => {
  const exported = new Set(found.exports.map(({ name }) => name))
  const missing = [...abiExports.keys(), "memory"].filter((name) => !exported.has(name))
  if (missing.length > 0) {
    const names = missing.join(", ")
    if (exported.has("wakeup"))
      throw refuse(
        "successor-abi",
        `it speaks the ABI of the original's successor (wakeup); it lacks ${names}`,
        missing,
      )
    if (exported.has("_start") && !exported.has("run"))
      throw refuse("command", `it is a WASI command (_start), not a controller; it lacks ${names}`, missing)
    throw refuse("missing-exports", `it does not export ${names}`, missing)
  }
  checkImports(found, refuse)
  const wrong = [
    ...found.exports.flatMap(({ name, kind, signature }) => {
      const wanted = name === "_initialize" ? ">" : abiExports.get(name)
      if (name === "memory") return kind === "memory" ? [] : ["memory is no memory"]
      return wanted === undefined || signature === wanted ? [] : [difference(name, signature ?? kind, wanted)]
    }),
    ...found.imports.flatMap(({ module, name, signature }) => {
      const wanted = wantedImport(module, name)
      return wanted === undefined || signature === wanted ? [] : [difference(`${module}.${name}`, signature, wanted)]
    }),
  ]
  if (wrong.length > 0) throw refuse("wrong-signatures", `types differ from the ABI's: ${wrong.join("; ")}`, wrong)
  if (found.memories.length !== 1) throw refuse("unsupported", "it has several memories; the ABI has one")
  const elements = found.tables.reduce((sum, { minimum }) => sum + minimum, 0)
  if (elements > maximumTableElements)
    throw refuse("unsupported", `its tables have ${elements} elements, of ${maximumTableElements} at most`)
}

const checkImports = (found: WasmModule, refuse: Refuse): void => {
  const unknown = found.imports.filter(({ module, name, kind }) => {
    return kind !== "function" || wantedImport(module, name) === undefined
  })
  if (unknown.length === 0) return
  // Also when a module imports a function several times, as Go does.
  const names = [...new Set(unknown.map(({ module, name }) => `${module}.${name}`))]
  throw refuse("unknown-imports", `it imports what the ABI does not have: ${names.join(", ")}`, names)
}

const wantedImport = (module: string, name: string): Signature | undefined =>
  module === wasiModule ? wasiSignatures.get(name) : abiImports.get(`${module}.${name}`)

const letterTypes: Readonly<Record<string, string>> = { i: "i32", I: "i64", f: "f32", F: "f64", V: "v128", r: "ref" }

const readable = (signature: Signature): string => {
  const [parameters = "", results = ""] = signature.split(">")
  const list = (letters: string) => `(${[...letters].map((letter) => letterTypes[letter]).join(", ")})`
  return `${list(parameters)} → ${list(results)}`
}

const difference = (name: string, actual: string | undefined, wanted: Signature): string => {
  const present = actual?.includes(">") === true ? readable(actual) : `a ${actual ?? "function of no known type"}`
  return `${name} is ${present}, not ${readable(wanted)}`
}

const rewrite = (bytes: Uint8Array, found: WasmModule) => {
  const rewriter = new ModuleRewriter(bytes, found)
  rewriter.importMemory(hostModule, "memory")
  rewriter.exportStart(startExport)
  rewriter.fixTables()
  const mutable = found.globals.filter(({ isMutable }) => isMutable)
  const globals = mutable.flatMap(({ index, type }): GuestGlobal[] => {
    if (type === "other") return []
    const exportName = `kubereel:global:${index}`
    rewriter.addExport(exportName, "global", index)
    return [{ exportName, type }]
  })
  const [memory = { minimum: 0 }] = found.memories
  return {
    bytes: rewriter.bytes(),
    description: {
      minimumPages: memory.minimum,
      ...(memory.maximum !== undefined && { maximumPages: memory.maximum }),
      globals,
      hasStartFunction: found.start !== undefined,
      hasInitialize: found.exports.some(({ name }) => name === "_initialize"),
      ...(globals.length < mutable.length && {
        imageObstacle: "it has mutable globals that are references or vectors, which cannot be read",
      }),
    },
  }
}
