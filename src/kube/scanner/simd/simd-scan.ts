/**
 * The WebAssembly pass over objects and watch lines (assembly/scan.ts), on a copy of the bytes in the module's own memory.
 *
 * When it returns true, the result is what the pass in TypeScript would have found; when it returns false, that pass decides, and so it
 * does for everything larger than the memory.
 *
 * Pays off from the smallest bookmark on, copy included (docs/decisions/0009).
 */
import { simdModule } from "./simd-module.ts"

// Positions in the memory, in bytes: assembly/layout.ts.
const resultsStart = 4096
const resultWords = 24
/** Where encoded change rules are. */
export const rulesStart = 8192
const inputStart = 65_536
const positionsStart = 65_536 + 1024 * 1024 + 65_536

/** Largest number of bytes to copy. An object at etcd's usual limit is larger; a usual object is not a hundredth of this. */
const largest = 1024 * 1024

/** Words of the results. Spans are at twice the numbers of the captures in member-trie.ts. */
export const SimdResult = { type: 0, initialEventsEnd: 1, objectStart: 20, objectEnd: 21, low: 22, high: 23 } as const

interface SimdExports {
  readonly memory: WebAssembly.Memory
  readonly scanLine: (length: number, offset: number) => number
  readonly scanObject: (length: number, offset: number) => number
  readonly findCandidates: (length: number) => number
}

/** One for each thread that scans, shared by all its scanners. */
export class SimdScan {
  /** The results of the last scan that returned true; positions refer to the bytes passed to it. */
  readonly results: Int32Array
  /** What {@link findCandidates} found, counted from the start of the bytes; valid until the next call of any method. */
  readonly positions: Int32Array
  readonly #memory: Uint8Array
  readonly #exports: SimdExports
  #rules: Uint8Array | undefined

  private constructor(exports: SimdExports) {
    const { buffer } = exports.memory
    this.#memory = new Uint8Array(buffer)
    this.results = new Int32Array(buffer, resultsStart, resultWords)
    this.positions = new Int32Array(buffer, positionsStart)
    this.#exports = exports
  }

  /** `undefined` if the processor or the runtime has no SIMD. */
  static create(): SimdScan | undefined {
    try {
      const module = new WebAssembly.Module(Buffer.from(simdModule, "base64"))
      return new SimdScan(new WebAssembly.Instance(module).exports as unknown as SimdExports)
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) return undefined
      throw error
    }
  }

  /** Scans the watch line that fills `bytes[start, end)`, with `rules` from `encodeRules`. */
  scanLine(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanLine(end - start, start) !== 0
  }

  /** Scans the object that fills `bytes[start, end)`. */
  scanObject(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    return this.#load(rules, bytes, start, end) && this.#exports.scanObject(end - start, start) !== 0
  }

  /**
   * Fills {@link positions} with the places in `bytes[start, end)` where redaction has to look closer (assembly/candidates.ts).
   *
   * @returns how many there are; -1 for more bytes than the memory has room for
   */
  findCandidates(bytes: Buffer, start: number, end: number): number {
    return this.#copy(bytes, start, end) ? this.#exports.findCandidates(end - start) : -1
  }

  #load(rules: Uint8Array, bytes: Buffer, start: number, end: number): boolean {
    if (!this.#copy(bytes, start, end)) return false
    if (rules !== this.#rules) {
      this.#rules = rules
      this.#memory.set(rules, rulesStart)
    }
    return true
  }

  #copy(bytes: Buffer, start: number, end: number): boolean {
    if (end - start > largest) return false
    // Creates no view of the range, which would cost as much as the copy.
    copyBytes.call(bytes, this.#memory, inputStart, start, end)
    return true
  }
}

const copyBytes = Buffer.prototype.copy

/** The one that all scanners of this thread share; `undefined` without SIMD. */
export const threadScan: SimdScan | undefined = SimdScan.create()
