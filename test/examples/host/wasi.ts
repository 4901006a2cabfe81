/**
 * As much of WASI preview 1 as the example guests use, without files, arguments and sleep. A function that a guest imports and that is not
 * here fails the instantiation by its name.
 */
import { randomFillSync } from "node:crypto"

export interface Wasi {
  readonly functions: Record<string, (...parameters: never[]) => number>
  /** What was written to the standard output and error output. */
  readonly lines: string[]
}

const success = 0
const badDescriptor = 8
const characterDevice = 2

/** @param memory the guest's memory as it is now. */
export const wasi = (memory: () => ArrayBufferLike, environment: Readonly<Record<string, string>>): Wasi => {
  const lines: string[] = []
  const rest: Record<number, string> = { 1: "", 2: "" }
  const view = (): DataView => new DataView(memory())
  const variables = Object.entries(environment).map(([name, value]) => Buffer.from(`${name}=${value}\0`))
  const sizes = (values: ReadonlyArray<Buffer>) => (count: number, size: number) => {
    view().setUint32(count, values.length, true)
    view().setUint32(size, Buffer.concat(values).length, true)
    return success
  }
  const functions = {
    args_sizes_get: sizes([]),
    args_get: () => success,
    environ_sizes_get: sizes(variables),
    environ_get: (pointers: number, buffer: number) => {
      let offset = buffer
      for (const [index, variable] of variables.entries()) {
        view().setUint32(pointers + 4 * index, offset, true)
        new Uint8Array(memory(), offset).set(variable)
        offset += variable.length
      }
      return success
    },
    clock_time_get: (clock: number, _precision: bigint, result: number) => {
      const ms = clock === 0 ? Date.now() : performance.now()
      view().setBigUint64(result, BigInt(Math.round(ms * 1e6)), true)
      return success
    },
    random_get: (pointer: number, length: number) => {
      randomFillSync(new Uint8Array(memory(), pointer, length))
      return success
    },
    fd_write: (descriptor: number, vectors: number, count: number, written: number) => {
      if (descriptor !== 1 && descriptor !== 2) return badDescriptor
      let text = rest[descriptor] ?? ""
      let total = 0
      for (let index = 0; index < count; index++) {
        const length = view().getUint32(vectors + 8 * index + 4, true)
        text += Buffer.from(memory(), view().getUint32(vectors + 8 * index, true), length).toString()
        total += length
      }
      const whole = text.split("\n")
      rest[descriptor] = whole.pop() ?? ""
      lines.push(...whole)
      view().setUint32(written, total, true)
      return success
    },
    fd_fdstat_get: (descriptor: number, result: number) => {
      if (descriptor > 2) return badDescriptor
      new Uint8Array(memory(), result, 24).fill(0)
      view().setUint8(result, characterDevice)
      return success
    },
    fd_fdstat_set_flags: () => success,
    fd_prestat_get: () => badDescriptor,
    fd_prestat_dir_name: () => badDescriptor,
    fd_close: () => success,
    sched_yield: () => success,
    poll_oneoff: () => {
      throw new Error("the guest sleeps")
    },
    proc_exit: (code: number) => {
      throw new Error(`the guest exits with code ${code}`)
    },
  }
  return { functions, lines }
}
