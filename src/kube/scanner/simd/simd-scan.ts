/**
 * The WebAssembly pass over objects and watch lines (assembly/scan.ts), on a copy of the bytes in the module's own memory.
 *
 * What it answers true for is what the pass in TypeScript would have found; where it answers false that one decides, and so
 * it does for all that is larger than the memory.
 *
 * Worth it from the smallest bookmark on, copy included (docs/decisions/0009).
 */
import { simdModule } from "./simd-module.ts"
import { rulesStart } from "./simd-rules.ts"

// Where things lie in the memory, in bytes: assembly/layout.ts.
const resultsStart = 4096
const resultWords = 24
const inputStart = 65_536

/** Bytes that are copied at most. An object of etcd's usual limit is larger, the usual one is not a hundredth of it. */
const largest = 1024 * 1024

/** Words of the results. Spans stand at twice the numbers that member-trie.ts gives to captures. */
export const SimdResult = { type: 0, initialEventsEnd: 1, objectStart: 20, objectEnd: 21, low: 22, high: 23 } as const

interface SimdExports {
  readonly memory: WebAssembly.Memory
  readonly scanLine: (length: number, offset: number) => number
  readonly scanObject: (length: number, offset: number) => number
}

/** One for each thread that scans, shared by all scanners of it. */
export class SimdScan {
  /** What the last scan that answered true found; positions are those of the bytes that it was given. */
  readonly results: Int32Array
  readonly #memory: Uint8Array
  readonly #exports: SimdExports
  #rules: Uint8Array | undefined

  private constructor(exports: SimdExports) {
    const { buffer } = exports.memory
    this.#memory = new Uint8Array(buffer)
    this.results = new Int32Array(buffer, resultsStart, resultWords)
    this.#exports = exports
  }

  /** `undefined` where the processor or the runtime has no SIMD. */
  static create(): SimdScan | undefined {
    try {
      const module = new WebAssembly.Module(Buffer.from(simdModule, "base64"))
      return new SimdScan(new WebAssembly.Instance(module).exports as unknown as SimdExports)
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) return undefined
      throw error
    }
  }

  /** Scans the watch line that is all of `bytes[start, end)`, by `rules` that `encodeRules` made. */
  scanLine(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanLine(end - start, start) !== 0
  }

  /** Scans the object that is all of `bytes[start, end)`. */
  scanObject(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanObject(end - start, start) !== 0
  }

  #load(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    const length = end - start
    if (length > largest) return false
    if (rules !== this.#rules) {
      this.#rules = rules
      this.#memory.set(rules, rulesStart)
    }
    // Makes no view of the range, which would cost as much as the copy.
    copyBytes.call(bytes, this.#memory, inputStart, start, end)
    return true
  }
}

const copyBytes = Buffer.prototype.copy
