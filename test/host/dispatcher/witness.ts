/**
 * A guest that logs each row of its watch with what it remembers, and a model of what it was told, which finds rows that contradict each other.
 * The guest is configured by its environment: `WATCH` is the index of its selection, followed by what it does beside watching.
 */
import { compileGuest, numbers, watchRequest } from "./odd-guests.ts"

/** What witnesses watch, by index. */
export const selections = [{}, { namespace: "shop" }, { labelSelector: "tier=x" }] as const

const source = `
@external("kube-watch-abi", "watch") declare function watch(pointer: usize, length: u32): u64
@external("delay-abi", "delay") declare function delay(ms: u64): u64
@external("wasi_snapshot_preview1", "fd_write") declare function fd_write(fd: u32, vectors: usize, count: u32, written: usize): u32
@external("wasi_snapshot_preview1", "clock_time_get") declare function clock_time_get(id: u32, precision: u64, result: usize): u32
@external("wasi_snapshot_preview1", "environ_get") declare function environ_get(pointers: usize, bytes: usize): u32

const everything = StaticArray.fromArray<u8>([%0%])
const ofShop = StaticArray.fromArray<u8>([%1%])
const ofTier = StaticArray.fromArray<u8>([%2%])
let wanted: StaticArray<u8> = everything
let habit: u8 = 0
let seen: i32 = 0
let ticks: i32 = 0
let isBurning: bool = false
const now = new StaticArray<u64>(1)

function log(text: string): void {
  const bytes = String.UTF8.encode(text + "\\n")
  const vector = new StaticArray<u32>(3)
  vector[0] = <u32>changetype<usize>(bytes)
  vector[1] = <u32>bytes.byteLength
  fd_write(1, changetype<usize>(vector), 1, changetype<usize>(vector) + 8)
}

function subscribe(): void {
  log("watch")
  watch(changetype<usize>(wanted), wanted.length)
}

export function run(): void {
  const bytes = new StaticArray<u8>(64)
  const pointers = new StaticArray<u32>(4)
  environ_get(changetype<usize>(pointers), changetype<usize>(bytes))
  // WATCH=1t
  if (bytes[6] == 49) wanted = ofShop
  if (bytes[6] == 50) wanted = ofTier
  habit = bytes[7]
  log("run")
  subscribe()
  if (habit == 100) delay(20)
  if (habit == 98) delay(2)
}

function nanos(): u64 {
  clock_time_get(1, 1, changetype<usize>(now))
  return unchecked(now[0])
}

/** Keeps the worker busy for 3 ms. */
function burn(): void {
  const end = nanos() + 3000000
  while (nanos() < end) {}
}

export function allocate(size: u32): usize { return heap.alloc(size) }

export function wakeup_future(id: u64, pointer: usize, length: u32): void {
  if (isBurning) burn()
  if (habit == 98) { delay(2); return }
  log("tick " + (++ticks).toString())
  delay(20)
}

function after(event: string, opening: string): string {
  const at = event.indexOf(opening) + opening.length
  return event.substring(at, event.indexOf('"', at))
}

export function wakeup_stream(id: u64, pointer: usize, length: u32): void {
  if (pointer == 0) { log("end"); subscribe(); return }
  const event = String.UTF8.decodeUnsafe(pointer, length)
  heap.free(pointer)
  const type = event.substring(9, event.indexOf('"', 9))
  if (type == "ERROR" || type == "BOOKMARK") { log(type); return }
  const name = after(event, '"name":"')
  if (type == "MODIFIED" && name == "bomb" && habit == 116) unreachable()
  if (type == "MODIFIED" && name == "maze" && habit == 108) while (true) seen++
  if (name == "fire") isBurning = type != "DELETED"
  seen++
  log(type + " " + after(event, '"uid":"') + " " + after(event, '"resourceVersion":"') + " " + seen.toString())
}
`

/**
 * Compiles it; returns the path of the file. Habits: `t` traps when the object `bomb` changes, `l` never returns when `maze` does, `d` asks for
 * one delay after the other, `b` as well, and keeps its worker busy while the object `fire` exists.
 */
export const buildWitness = (directory: string): string => {
  const text = selections.reduce<string>(
    (before, selection, index) =>
      before.replace(`%${index}%`, numbers(watchRequest({ ...selection, allowBookmarks: true }))),
    source,
  )
  return compileGuest(directory, "witness", text)
}

/** What one witness was told in its present life. Times and orders are those of its log. */
export class Testimony {
  /** UID → version of what exists. */
  readonly known = new Map<string, number>()
  /** UIDs of which it was told that they are gone, by a deletion or by their absence from a complete state. */
  readonly gone = new Set<string>()
  /** What cannot be, of all lives. */
  readonly contradictions: string[] = []
  lives = 0
  watches = 0
  rows = 0
  ticks = 0
  #inLife = 0
  /** Of the state that a watch begins with; `undefined` once that is complete. */
  #state: Set<string> | undefined
  readonly #versions = new Map<string, number>()

  hear(line: string): void {
    const [type, uid = "", version = "", count = ""] = line.split(" ")
    if (type === "run") {
      this.lives++
      this.#inLife = 0
      for (const each of [this.known, this.gone, this.#versions]) each.clear()
    } else if (type === "watch") {
      this.watches++
      this.#state = new Set()
    } else if (type === "tick") this.ticks++
    else if (type === "BOOKMARK") this.#complete()
    else if (type === "ADDED" || type === "MODIFIED" || type === "DELETED") {
      this.rows++
      this.#expect(Number(count) === ++this.#inLife, line, "it has forgotten a row")
      this.#row(type, uid, Number(version), line)
    } else this.#expect(type === "end" || type === "ERROR", line, "unknown")
  }

  #row(type: "ADDED" | "MODIFIED" | "DELETED", uid: string, version: number, line: string): void {
    const before = this.#versions.get(uid)
    const isOfState = this.#state !== undefined
    // A complete state repeats what it has; a deletion between two watches may have the last known state.
    const mayRepeat = isOfState || type === "DELETED"
    this.#expect(before === undefined || before < version || (mayRepeat && before === version), line, "out of order")
    const isKnown = this.#state === undefined ? this.known.has(uid) : this.#state.has(uid)
    // What came and went while the module was slow is only deleted, also if it was so before: it entered the selection again and left it.
    if (type !== "DELETED")
      this.#expect((type === "ADDED") !== isKnown, line, isKnown ? "added twice" : "not added before")
    this.#versions.set(uid, version)
    if (type === "DELETED") {
      this.known.delete(uid)
      this.#state?.delete(uid)
      this.gone.add(uid)
    } else {
      this.gone.delete(uid)
      this.known.set(uid, version)
      this.#state?.add(uid)
    }
  }

  #complete(): void {
    const state = this.#state
    if (state === undefined) return
    this.#state = undefined
    for (const uid of [...this.known.keys()]) {
      if (state.has(uid)) continue
      this.known.delete(uid)
      this.gone.add(uid)
    }
  }

  /** Everything that it was ever told of in this life. */
  get everKnown(): ReadonlyArray<string> {
    return [...this.#versions.keys()]
  }

  #expect(isSo: boolean, line: string, problem: string): void {
    if (!isSo) this.contradictions.push(`${problem}: ${line}`)
  }
}
