/**
 * The WebAssembly pass over JSON values (simd/skip-value.ts), on a copy of the bytes in the module's own memory.
 *
 * Takes half the time of the pass in TypeScript, copy included: 1.4 µs instead of 2.6 µs for a Deployment line of 3.2 kB. Where
 * it answers 0 the pass in TypeScript decides; so does it for all that is larger than the memory.
 */
import { simdModule } from "./simd-module.ts"

/** Bytes of the stack of brackets, at the beginning of the memory. */
const stackBytes = 4096
/** Bytes that are copied at most. An object of etcd's usual limit is larger, the usual one is not a hundredth of it. */
const largest = 1024 * 1024
/** Zeros behind the bytes: a load of 16 that begins with the last of them must meet nothing else. */
const marginBytes = 32

interface SimdExports {
  readonly memory: WebAssembly.Memory
  readonly skipValue: (position: number) => number
}

/** One for each thread that scans; a thread scans one span at a time. */
export class SimdSkip {
  readonly #memory: Uint8Array
  readonly #skipValue: (position: number) => number
  /** Position in the memory less position in the bytes that were loaded. */
  #shift = 0
  #from = 0
  #until = 0
  /** Whose bytes they are: another cursor's positions mean other bytes. */
  #cursor: object | undefined

  private constructor({ memory, skipValue }: SimdExports) {
    this.#memory = new Uint8Array(memory.buffer)
    this.#skipValue = skipValue
  }

  /** `undefined` where the processor or the runtime has no SIMD. */
  static create(): SimdSkip | undefined {
    try {
      const module = new WebAssembly.Module(Buffer.from(simdModule, "base64"))
      return new SimdSkip(new WebAssembly.Instance(module).exports as unknown as SimdExports)
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) return undefined
      throw error
    }
  }

  /** Takes a copy of `bytes[start, end)` for a cursor, in the place of any other's. */
  load(cursor: object, bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    if (length > largest) return this.unload(cursor)
    this.#cursor = cursor
    const memory = this.#memory
    memory.set(bytes.subarray(start, end), stackBytes)
    memory.fill(0, stackBytes + length, stackBytes + length + marginBytes)
    this.#shift = stackBytes - start
    this.#from = start
    this.#until = end
  }

  /** The cursor goes to other bytes, of which there is no copy. */
  unload(cursor: object): void {
    if (this.#cursor === cursor) this.#cursor = undefined
  }

  /** The position behind the value at `position`, both in the bytes that the cursor loaded; 0: let the other pass decide. */
  skipValue(cursor: object, position: number): number {
    if (cursor !== this.#cursor || position < this.#from || position >= this.#until) return 0
    const end = this.#skipValue(position + this.#shift)
    return end === 0 ? 0 : end - this.#shift
  }
}
