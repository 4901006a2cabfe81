/**
 * WASI preview 1 for guests: clocks, random bytes, arguments, environment, and standard output and error as log lines. No file system, no
 * network, no sleep. Every function can be imported; those that are not here return error numbers.
 *
 * Guaranteed: nothing here throws because of what a guest passes; addresses outside its memory are error 21 (fault). The work of a call is
 * bounded by the guest's memory.
 */
import type { Clock } from "../../clock.ts"
import { memberOf } from "../../own-member.ts"
import type { GuestLog } from "./guest-log.ts"

export const wasiModule = "wasi_snapshot_preview1"

/** Error numbers of WASI preview 1. */
export const errno = {
  success: 0,
  badFile: 8,
  fault: 21,
  invalid: 28,
  notSupported: 52,
  notSeekable: 70,
} as const

/** A guest's linear memory, for code that gets addresses from the guest. Addresses are unsigned: convert what the guest passes with `>>> 0`. */
export class GuestMemory {
  readonly memory: WebAssembly.Memory
  #view: DataView

  constructor(memory: WebAssembly.Memory) {
    this.memory = memory
    this.#view = new DataView(memory.buffer)
  }

  get byteLength(): number {
    return this.memory.buffer.byteLength
  }

  /** Whether the guest has all of these bytes. */
  has(address: number, length: number): boolean {
    return address + length <= this.memory.buffer.byteLength
  }

  /** Of the memory as it is now; another one once the guest has run. */
  view(): DataView {
    if (this.#view.buffer !== this.memory.buffer) this.#view = new DataView(this.memory.buffer)
    return this.#view
  }

  /** A view, valid until the guest runs. {@link has} must hold. */
  bytes(address: number, length: number): Uint8Array {
    return new Uint8Array(this.memory.buffer, address, length)
  }
}

/** ns, added to the monotonic clock: Go refuses one that says 0. */
const beginning = 1_000_000_000n

/** ns since the Unix epoch for clock 0; for clock 1 since a moment that means nothing. */
const nanosOf = (clock: WasiHost["clock"], id: number): bigint =>
  id === 0 ? BigInt(clock.wallMicros()) * 1000n : BigInt(Math.floor(clock.monotonicMs() * 1e6)) + beginning

interface WasiHost {
  readonly memory: GuestMemory
  readonly clock: Pick<Clock, "wallMicros" | "monotonicMs">
  readonly log: GuestLog
  /** Fills the bytes with random ones. */
  readonly random: (bytes: Uint8Array) => void
  readonly arguments: ReadonlyArray<string>
  /** `NAME=VALUE` each. */
  readonly environment: ReadonlyArray<string>
  /** Ends the guest, which asked for it. */
  exit(code: number): never
  /** Ends the guest, because it would sleep that long (ns). */
  sleep(nanos: bigint): never
}

/** Bytes and parts that one `fd_write` takes; it may take less than it is given, and callers then write again. */
const writeBytes = 65_536
const writeParts = 1024

/** ns; the host's clocks count µs. */
const resolution = 1000n

/**
 * `filetype` of a character device, and the rights to read and write. With these, and without the right to seek, a C library takes the streams
 * for terminals and so flushes at the end of each line; it would otherwise wait for the end of the program, which a guest never reaches.
 */
const characterDevice = 2
const rights = { read: 2n, write: 64n } as const

type WasiFunction = (...values: never[]) => number

/** The functions of these names. Parameters are what a guest passes: i32 as signed numbers, i64 as signed bigints. */
export const wasiImports = (host: WasiHost, names: ReadonlyArray<string>): Readonly<Record<string, WasiFunction>> => {
  const functions = functionsOf(host)
  return Object.fromEntries(
    names.map((name) => [name, memberOf(functions, name) ?? (name.startsWith("fd_") ? ofFile : badFile)]),
  )
}

const badFile = () => errno.badFile
/** For a function that works on files, but not on streams. */
const ofFile = (file: number) => (isStandard(file) ? errno.notSupported : errno.badFile)

const functionsOf = (host: WasiHost): Readonly<Record<string, WasiFunction>> => {
  const { memory, clock, log } = host
  return {
    args_get: listWriter(memory, host.arguments),
    args_sizes_get: sizesWriter(memory, host.arguments),
    environ_get: listWriter(memory, host.environment),
    environ_sizes_get: sizesWriter(memory, host.environment),
    clock_res_get: (id: number, result: number) => writeTime(memory, id, result, () => resolution),
    clock_time_get: (id: number, _precision: bigint, result: number) =>
      writeTime(memory, id, result, () => nanosOf(clock, id)),
    fd_close: (file: number) => (isStandard(file) ? errno.success : errno.badFile),
    fd_fdstat_get: (file: number, result: number) => {
      if (!isStandard(file)) return errno.badFile
      const address = result >>> 0
      if (!memory.has(address, 24)) return errno.fault
      memory.bytes(address, 24).fill(0)
      memory.view().setUint8(address, characterDevice)
      memory.view().setBigUint64(address + 8, file === 0 ? rights.read : rights.write, true)
      return errno.success
    },
    // Streams neither block nor wait, so their flags do not matter; Go sets some at its start.
    fd_fdstat_set_flags: (file: number) => (isStandard(file) ? errno.success : errno.badFile),
    fd_read: (file: number, _parts: number, _count: number, result: number) => {
      if (file !== 0) return errno.badFile
      return writeSize(memory, result, 0)
    },
    // No directory is open; the error of the first tells a run-time so.
    fd_prestat_get: badFile,
    fd_prestat_dir_name: badFile,
    fd_seek: (file: number) => (isStandard(file) ? errno.notSeekable : errno.badFile),
    fd_tell: (file: number) => (isStandard(file) ? errno.notSeekable : errno.badFile),
    fd_write: (file: number, parts: number, count: number, result: number) => {
      if (file !== 1 && file !== 2) return errno.badFile
      return write(memory, log, file, parts >>> 0, count >>> 0, result)
    },
    poll_oneoff: (input: number, output: number, count: number, counted: number) =>
      pollOneoff(host, input >>> 0, output >>> 0, count >>> 0, counted >>> 0),
    proc_exit: (code: number) => host.exit(code >>> 0),
    proc_raise: () => errno.notSupported,
    random_get: (result: number, length: number) => {
      if (!memory.has(result >>> 0, length >>> 0)) return errno.fault
      host.random(memory.bytes(result >>> 0, length >>> 0))
      return errno.success
    },
    sched_yield: () => errno.success,
  }
}

const isStandard = (file: number): boolean => file >= 0 && file <= 2

const writeSize = (memory: GuestMemory, result: number, size: number): number => {
  if (!memory.has(result >>> 0, 4)) return errno.fault
  memory.view().setUint32(result >>> 0, size, true)
  return errno.success
}

/** Clocks 0 (wall) and 1 (monotonic); there are none of CPU time. */
const writeTime = (memory: GuestMemory, id: number, result: number, time: () => bigint): number => {
  if (id !== 0 && id !== 1) return errno.invalid
  if (!memory.has(result >>> 0, 8)) return errno.fault
  memory.view().setBigUint64(result >>> 0, time(), true)
  return errno.success
}

const write = (
  memory: GuestMemory,
  log: GuestLog,
  file: 1 | 2,
  parts: number,
  count: number,
  result: number,
): number => {
  if (count > writeParts) return errno.invalid
  if (!memory.has(parts, count * 8) || !memory.has(result >>> 0, 4)) return errno.fault
  const view = memory.view()
  const taken: Array<{ readonly address: number; readonly length: number }> = []
  let total = 0
  for (let part = parts; part < parts + count * 8; part += 8) {
    const address = view.getUint32(part, true)
    const length = view.getUint32(part + 4, true)
    if (!memory.has(address, length)) return errno.fault
    const kept = Math.min(length, writeBytes - total)
    taken.push({ address, length: kept })
    total += kept
  }
  for (const { address, length } of taken) log.write(file === 1 ? "stdout" : "stderr", memory.bytes(address, length))
  return writeSize(memory, result, total)
}

/** Strings in the form of C, as both `args` and `environ` have them: each ends with a zero byte. */
const zeroTerminated = (strings: ReadonlyArray<string>): ReadonlyArray<Uint8Array> =>
  strings.map((text) => Buffer.from(`${text}\0`))

const sizesWriter = (memory: GuestMemory, strings: ReadonlyArray<string>) => {
  const size = zeroTerminated(strings).reduce((sum, text) => sum + text.length, 0)
  return (count: number, bytes: number): number =>
    writeSize(memory, count, strings.length) || writeSize(memory, bytes, size)
}

const listWriter = (memory: GuestMemory, strings: ReadonlyArray<string>) => {
  const encoded = zeroTerminated(strings)
  const size = encoded.reduce((sum, text) => sum + text.length, 0)
  return (pointers: number, bytes: number): number => {
    if (!memory.has(pointers >>> 0, strings.length * 4) || !memory.has(bytes >>> 0, size)) return errno.fault
    let at = bytes >>> 0
    for (const [index, text] of encoded.entries()) {
      memory.view().setUint32((pointers >>> 0) + index * 4, at, true)
      memory.bytes(at, text.length).set(text)
      at += text.length
    }
    return errno.success
  }
}

/**
 * Waits up to 1 ms end at once: run-times wait for some µs while they spin, and a guest that then looks at the clock again does not do so for
 * long.
 */
const shortestSleepNanos = 1_000_000n

const subscriptionBytes = 48
const eventBytes = 32
const eventTypes = { clock: 0, read: 1, write: 2 } as const
/** `event.flags`: the other end has hung up. */
const hangUp = 1

/**
 * `poll_oneoff` without waiting: a guest shares its thread with others, so it is never put to sleep. What is ready is reported at once; a guest
 * that would have to wait longer than {@link shortestSleepNanos} is ended, since it would otherwise either hold up the others or spin.
 *
 * @returns an error number of WASI.
 */
const pollOneoff = (host: WasiHost, input: number, output: number, count: number, counted: number): number => {
  const { memory, clock } = host
  if (count === 0) return errno.invalid
  const fits = memory.has(input, count * subscriptionBytes) && memory.has(output, count * eventBytes)
  if (!fits || !memory.has(counted, 4)) return errno.fault
  const view = memory.view()
  let events = 0
  let shortest: bigint | undefined
  const report = (at: number, error: number, flags = 0): void => {
    const event = output + events++ * eventBytes
    // Read before it is written: input and output may overlap.
    const userData = view.getBigUint64(at, true)
    const type = view.getUint8(at + 8)
    memory.bytes(event, eventBytes).fill(0)
    view.setBigUint64(event, userData, true)
    view.setUint16(event + 8, error, true)
    view.setUint8(event + 10, type)
    view.setUint16(event + 24, flags, true)
  }
  for (let index = 0; index < count; index++) {
    const at = input + index * subscriptionBytes
    const type = view.getUint8(at + 8)
    if (type === eventTypes.clock) {
      const left = leftOf(view, at, clock)
      if (left === undefined) report(at, errno.invalid)
      else if (left <= shortestSleepNanos) report(at, errno.success)
      else if (shortest === undefined || left < shortest) shortest = left
    } else if (type === eventTypes.read || type === eventTypes.write) {
      const file = view.getUint32(at + 16, true)
      const isOpen = type === eventTypes.read ? file === 0 : file === 1 || file === 2
      report(at, isOpen ? errno.success : errno.badFile, isOpen && type === eventTypes.read ? hangUp : 0)
    } else return errno.invalid
  }
  if (events === 0 && shortest !== undefined) host.sleep(shortest)
  view.setUint32(counted, events, true)
  return errno.success
}

/** ns until a clock's subscription is due; `undefined` for a clock that guests do not have. */
const leftOf = (view: DataView, at: number, clock: WasiHost["clock"]): bigint | undefined => {
  const id = view.getUint32(at + 16, true)
  if (id > 1) return undefined
  const time = view.getBigUint64(at + 24, true)
  const isAbsolute = (view.getUint16(at + 40, true) & 1) !== 0
  if (!isAbsolute) return time
  return time - nanosOf(clock, id)
}
