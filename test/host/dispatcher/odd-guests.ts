/**
 * Guests that are made for tests: they watch the objects of a kind, log each, and on some of them misbehave. Written as
 * AssemblyScript and compiled here, because no example would do that.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { buildOnce } from "../../harness/built-once.ts"

const compiler = fileURLToPath(new URL("../../../node_modules/assemblyscript/bin/asc.js", import.meta.url))

/**
 * Takes a second to compile, and differs only in what it watches: so it is compiled with a placeholder, which each guest replaces by its
 * own request. In front of the request is its length, as two bytes. `%REQUEST%` is the bincode of a request as numbers.
 */
const source = `
@external("kube-watch-abi", "watch") declare function watch(pointer: usize, length: u32): u64
@external("http-proxy-abi", "request") declare function request(pointer: usize, length: u32): u64
@external("wasi_snapshot_preview1", "fd_write") declare function fd_write(fd: u32, vectors: usize, count: u32, written: usize): u32

const watchRequest = StaticArray.fromArray<u8>([%PLACEHOLDER%])
const httpRequest = StaticArray.fromArray<u8>([%REQUEST%])
let seen: i32 = 0

function log(text: string): void {
  const bytes = String.UTF8.encode(text + "\\n")
  const vector = new StaticArray<u32>(3)
  vector[0] = <u32>changetype<usize>(bytes)
  vector[1] = <u32>bytes.byteLength
  fd_write(1, changetype<usize>(vector), 1, changetype<usize>(vector) + 8)
}

function subscribe(): void {
  const place = changetype<usize>(watchRequest)
  watch(place + 2, load<u16>(place))
}

export function run(): void { log("run"); subscribe() }

export function allocate(size: u32): usize { return heap.alloc(size) }

export function wakeup_future(id: u64, pointer: usize, length: u32): void {
  if (pointer != 0) heap.free(pointer)
}

export function wakeup_stream(id: u64, pointer: usize, length: u32): void {
  if (pointer == 0) { log("end"); subscribe(); return }
  const event = String.UTF8.decodeUnsafe(pointer, length)
  heap.free(pointer)
  const type = event.substring(9, event.indexOf('"', 9))
  if (type == "ERROR") { log(event); return }
  const at = event.indexOf('"name":"') + 8
  const name = event.substring(at, event.indexOf('"', at))
  seen++
  if (name == "trap" && type == "ADDED") unreachable()
  if (name == "outside" && type == "ADDED") store<u64>(0xfffffff0, 1)
  if (name == "loop" && type == "ADDED") { log("loops"); while (true) seen++ }
  if (name == "eat" && type == "ADDED") while (true) if (memory.grow(16) < 0) unreachable()
  if (name == "flood" && type == "ADDED") for (let i = 0; i < 5000; i++) request(changetype<usize>(httpRequest), httpRequest.length)
  log(type + " " + name + " " + seen.toString())
}
`

/** As long as the longest request may be; nothing else in a guest looks like it. */
const placeholder = Buffer.alloc(512, "what is watched;")

class Bincode {
  readonly #parts: Buffer[] = []
  text(value: string): this {
    this.#parts.push(lengthOf(Buffer.byteLength(value)), Buffer.from(value))
    return this
  }
  optional(value: string | undefined): this {
    this.#parts.push(Buffer.from([value === undefined ? 0 : 1]))
    return value === undefined ? this : this.text(value)
  }
  byte(value: number): this {
    this.#parts.push(Buffer.from([value]))
    return this
  }
  nothing(): this {
    this.#parts.push(lengthOf(0))
    return this
  }
  bytes(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

const lengthOf = (length: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(length))
  return bytes
}

/** What a guest watches. */
export interface OddWatch {
  /** Default `v1`. */
  readonly apiVersion?: string
  /** Default `ConfigMap`. */
  readonly kind?: string
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly fieldSelector?: string
  readonly labelSelector?: string
  /** The version to continue from. Default: the present state. */
  readonly resourceVersion?: string
  /** Default false. */
  readonly allowBookmarks?: boolean
}

/** Bytes as the elements of an array in a source. */
export const numbers = (bytes: Buffer): string => [...bytes].join(",")

/** The bincode of a request for such a watch. */
export const watchRequest = ({
  apiVersion = "v1",
  kind = "ConfigMap",
  namespace,
  fieldSelector,
  labelSelector,
  resourceVersion = "",
  allowBookmarks = false,
}: OddWatch): Buffer => {
  const [version = "", group = ""] = apiVersion.split("/").reverse()
  const watch = new Bincode()
    .text(apiVersion)
    .text(group)
    .text(kind)
    .text(version)
    .optional(namespace)
    .text(resourceVersion)
  watch
    .optional(fieldSelector)
    .byte(0)
    .optional(labelSelector)
    .byte(allowBookmarks ? 1 : 0)
  return watch.bytes()
}

/** Compiles a guest from its source, once in a run; returns the path of the file. */
export const compileGuest = (directory: string, name: string, text: string): string => {
  const output = join(directory, `${name}.wasm`)
  buildOnce([name, text], output, (built) => {
    const file = join(directory, `${name}.ts`)
    writeFileSync(file, text)
    execFileSync(process.execPath, [compiler, file, "--outFile", built, "--runtime", "stub", "--use", "abort="], {
      cwd: directory,
      stdio: "pipe",
    })
  })
  return output
}

/** Makes a guest that watches the ConfigMaps of that namespace, or something else; returns the path of the file. */
export const buildOddGuest = (directory: string, watched: string | OddWatch): string => {
  const watch: OddWatch = typeof watched === "string" ? { namespace: watched } : watched
  const request = new Bincode().text("GET").text("/version").nothing().nothing().bytes()
  const text = source.replace("%PLACEHOLDER%", numbers(placeholder)).replace("%REQUEST%", numbers(request))
  const guest = readFileSync(compileGuest(directory, "odd", text))
  const place = guest.indexOf(placeholder)
  if (place < 0) throw new Error("the compiled guest has no placeholder: has the compiler divided its data?")
  const bytes = watchRequest(watch)
  if (bytes.length > placeholder.length - 2) throw new Error(`a request of ${bytes.length} bytes is too long`)
  guest.writeUInt16LE(bytes.length, place)
  bytes.copy(guest, place + 2)
  const { kind = "ConfigMap", namespace = "all", fieldSelector = "" } = watch
  const output = join(directory, `odd-${kind}-${namespace}-${fieldSelector.replaceAll(/\W/g, "-")}.wasm`)
  writeFileSync(output, guest)
  return output
}
