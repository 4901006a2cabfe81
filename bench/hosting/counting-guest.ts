/**
 * The module of scenario *host*: it watches some kinds, counts the changes and how long after their sending it was entered for each, and logs
 * that at a mark (change-stamp.ts). Written in AssemblyScript and compiled here, so that the bench needs no other compiler.
 *
 * Lines: `run` at the start, `synced` after the list of the last kind, and `measured BUCKET:CHANGES …` for each mark.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { changeAnnotation, type Measured } from "./change-stamp.ts"
import type { HostKind } from "./host-cluster.ts"

const compiler = fileURLToPath(new URL("../../node_modules/assemblyscript/bin/asc.js", import.meta.url))

/** Latencies are counted in buckets of 1/64 of their size; below 64 µs each µs is one. */
const bucketsPerOctave = 64

/** µs that no latency of a bucket exceeds. */
const largestIn = (bucket: number): number => {
  if (bucket < bucketsPerOctave) return bucket
  const octave = Math.floor(bucket / bucketsPerOctave) - 1
  return (bucketsPerOctave + (bucket % bucketsPerOctave) + 1) * 2 ** octave - 1
}

/**
 * The wall clock of a guest lags by up to 1 ms behind that of other processes, so the moment at which it shows another millisecond is taken
 * as the origin of the monotonic one, as in wall-clock.ts. An image keeps it, with a clock that may then be wrong by 1 ms.
 */
const source = `
@external("kube-watch-abi", "watch") declare function watch(pointer: usize, length: u32): u64
@external("wasi_snapshot_preview1", "fd_write") declare function fd_write(fd: u32, vectors: usize, count: u32, written: usize): u32
@external("wasi_snapshot_preview1", "clock_time_get") declare function clock_time_get(id: u32, precision: u64, result: usize): u32

const requests: StaticArray<u8>[] = [%REQUESTS%]
const needle = String.UTF8.encode('"%ANNOTATION%":"')
const now = new StaticArray<u64>(1)
const counts = new StaticArray<u32>(${bucketsPerOctave * 28})
/** Watches whose list is complete. */
let synced: i32 = 0
/** µs to add to the monotonic clock. */
let origin: i64 = 0

function micros(id: u32): i64 {
  clock_time_get(id, 1, changetype<usize>(now))
  return <i64>(unchecked(now[0]) / 1000)
}

function log(text: string): void {
  const bytes = String.UTF8.encode(text + "\\n")
  const vector = new StaticArray<u32>(3)
  vector[0] = <u32>changetype<usize>(bytes)
  vector[1] = <u32>bytes.byteLength
  fd_write(1, changetype<usize>(vector), 1, changetype<usize>(vector) + 8)
}

export function run(): void {
  log("run")
  for (let i = 0; i < requests.length; i++) begin(i)
}

/** Takes 20 ms, so not at the start, which is measured. */
function setOrigin(): void {
  origin = i64.MIN_VALUE
  for (let look = 0; look < 20; look++) {
    const before = micros(0) / 1000
    let wall = micros(0)
    while (wall / 1000 == before) wall = micros(0)
    origin = max(origin, wall / 1000 * 1000 - micros(1))
  }
}

/** The request of each operation, by its id. */
const requestOf = new Map<u64, i32>()
function begin(request: i32): void {
  requestOf.set(watch(changetype<usize>(requests[request]), requests[request].length), request)
}
function again(id: u64): void {
  const request = requestOf.get(id)
  requestOf.delete(id)
  begin(request)
}

export function allocate(size: u32): usize { return heap.alloc(size) }

export function wakeup_future(id: u64, pointer: usize, length: u32): void {
  if (pointer != 0) heap.free(pointer)
}

/** The stamp of a change; -1 for none, below 10 for a mark. */
function stampOf(pointer: usize, length: u32): i64 {
  const first = changetype<usize>(needle)
  const size = <usize>needle.byteLength
  const end = pointer + length - size
  for (let at = pointer; at < end; at++) {
    if (load<u8>(at) != 0x22 || memory.compare(at, first, size) != 0) continue
    let value: i64 = 0
    for (at += size; load<u8>(at) != 0x22; at++) value = value * 10 + load<u8>(at) - 0x30
    return value
  }
  return -1
}

function bucketOf(latency: i64): i32 {
  if (latency < ${bucketsPerOctave}) return latency < 0 ? 0 : <i32>latency
  const octave = 63 - <i32>clz(latency) - ${Math.log2(bucketsPerOctave)}
  return min((octave + 1) * ${bucketsPerOctave} + <i32>(latency >> octave) - ${bucketsPerOctave}, counts.length - 1)
}

function tell(): void {
  let text = "measured"
  for (let bucket = 0; bucket < counts.length; bucket++) {
    if (counts[bucket] == 0) continue
    text += " " + bucket.toString() + ":" + counts[bucket].toString()
    counts[bucket] = 0
  }
  log(text)
}

export function wakeup_stream(id: u64, pointer: usize, length: u32): void {
  const entered = micros(1) + origin
  // A hub that has not started in time, on a busy machine, ends a watch with an error, and is to be asked once more.
  if (pointer == 0) { log("a watch has ended"); again(id); return }
  // {"type":"MODIFIED
  const type = load<u8>(pointer + 9)
  if (type == 0x4d) {
    const stamp = stampOf(pointer, length)
    if (stamp >= 10) counts[bucketOf(entered - stamp)]++
    else if (stamp >= 0) tell()
  } else if (type == 0x45) log(String.UTF8.decodeUnsafe(pointer, length))
  else if (type == 0x42 && ++synced == requests.length) {
    setOrigin()
    log("synced")
  }
  heap.free(pointer)
}
`

/** Where guests are compiled. */
const directory = fileURLToPath(new URL("../../dist/bench/", import.meta.url))

/** Paths of the compiled guests, by name: each takes the compiler a second. */
const compiled = new Map<string, string>()

/** Compiles the guest for these kinds below dist/, once in a process; answers the path of the module. */
export const buildCountingGuest = (kinds: ReadonlyArray<HostKind>): string => {
  const name = `counting-${kinds.map(({ plural }) => plural).join("-")}`
  const output = compiled.get(name) ?? join(directory, `${name}.wasm`)
  if (compiled.has(name)) return output
  const requests = kinds.map((kind) => `StaticArray.fromArray<u8>([${[...watchRequest(kind)].join(",")}])`)
  const file = join(directory, `${name}.ts`)
  mkdirSync(directory, { recursive: true })
  writeFileSync(file, source.replace("%REQUESTS%", requests.join(",")).replace("%ANNOTATION%", changeAnnotation))
  const flags = ["--outFile", output, "--runtime", "stub", "--use", "abort=", "-O"]
  execFileSync(process.execPath, [compiler, file, ...flags], { cwd: directory, stdio: "pipe" })
  compiled.set(name, output)
  return output
}

/** All objects of the kind, with bookmarks, in the bincode of ABI rust_v1alpha1 (docs/reference/guest-abi.md). */
const watchRequest = ({ apiVersion, kind }: HostKind): Buffer => {
  const [version = "", group = ""] = apiVersion.split("/").toReversed()
  const texts = [apiVersion, group, kind, version].map(text)
  // No namespace; no version to begin at; no field selector; not the uninitialised; no label selector; bookmarks.
  return Buffer.concat([...texts, Buffer.from([0]), text(""), Buffer.from([0, 0, 0, 1])])
}

const text = (value: string): Buffer => {
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(Buffer.byteLength(value)))
  return Buffer.concat([length, Buffer.from(value)])
}

/** Reads a line of the guest; `undefined` for another one. Latencies are the upper ends of buckets: up to 1.6 % too high. */
export const measuredIn = (line: string): Measured | undefined => {
  const [word, ...pairs] = line.split(" ")
  if (word !== "measured") return undefined
  const latencies = pairs.map((pair) => {
    const [bucket = Number.NaN, changes = Number.NaN] = pair.split(":").map(Number)
    return [largestIn(bucket), changes] as const
  })
  return { latencies }
}
