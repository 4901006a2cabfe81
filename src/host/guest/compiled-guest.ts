/**
 * From the bytes of a module to something that can be instantiated: the names of its imports and exports are compared with ABI `rust_v1alpha1`
 * and WASI preview 1 first, so that a module of another kind is refused by name and never runs.
 */
import { messageOf } from "../../message-of.ts"
import { GuestRefused, type Refusal } from "./errors.ts"
import { prepareBinary, WasmFormatError } from "./prepared-binary.ts"
import { wasiModule } from "./wasi.ts"

/** A module that may be instantiated. Plain data: it can be posted to other threads, which share the compiled code. */
export interface CompiledGuest {
  readonly name: string
  readonly module: WebAssembly.Module
  /** Pages of 64 KiB. */
  readonly minimumPages: number
  /** What the module itself declares. */
  readonly maximumPages: number | undefined
}

/** The functions of the ABI that a guest may import. */
const abiImports = new Set([
  "http-proxy-abi.request",
  "delay-abi.delay",
  "kube-watch-abi.watch",
  "kube-watch-abi.cancel",
])

/** What a guest must export; `negotiate` it may. */
const abiExports = {
  run: "function",
  allocate: "function",
  wakeup_future: "function",
  wakeup_stream: "function",
  memory: "memory",
} as const

/**
 * Checks, rewrites and compiles a module. Synchronous, and the engine compiles functions when they are first called.
 *
 * @param name for messages.
 * @throws {GuestRefused}
 */
export const compileGuest = (bytes: Uint8Array, name: string): CompiledGuest => {
  const refuse: Refuse = (refusal, reason, names = []) => new GuestRefused({ guest: name, refusal, reason, names })
  checkPreamble(bytes, refuse)
  try {
    const { bytes: prepared, ...memory } = prepareBinary(bytes)
    const module = new WebAssembly.Module(prepared)
    checkExports(module, refuse)
    checkImports(module, refuse)
    return { name, module, ...memory }
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

const checkExports = (module: WebAssembly.Module, refuse: Refuse): void => {
  const exported = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]))
  const missing = Object.entries(abiExports).flatMap(([name, kind]) => (exported.get(name) === kind ? [] : [name]))
  if (missing.length === 0) return
  const names = missing.join(", ")
  if (exported.has("wakeup"))
    throw refuse("successor-abi", `it speaks the ABI of the original's successor (wakeup); it lacks ${names}`, missing)
  if (exported.has("_start") && !exported.has("run"))
    throw refuse("command", `it is a WASI command (_start), not a controller; it lacks ${names}`, missing)
  throw refuse("missing-exports", `it does not export ${names}`, missing)
}

const checkImports = (module: WebAssembly.Module, refuse: Refuse): void => {
  // The last one is the memory.
  const unknown = WebAssembly.Module.imports(module)
    .slice(0, -1)
    .filter(({ module, name, kind }) => {
      return kind !== "function" || (module !== wasiModule && !abiImports.has(`${module}.${name}`))
    })
  if (unknown.length === 0) return
  // Also when a module imports a function several times, as Go does.
  const names = [...new Set(unknown.map(({ module, name }) => `${module}.${name}`))]
  throw refuse("unknown-imports", `it imports what the ABI does not have: ${names.join(", ")}`, names)
}
