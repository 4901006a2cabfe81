/**
 * Encodes an object's JSON as SimKube's MessagePack in WebAssembly (assembly/object.ts), on a copy of the bytes in the module's own memory.
 *
 * What it accepts is encoded byte for byte as the pass through objects would encode it (a test checks that); what it does not accept needs
 * that pass: anything unusual, and everything larger than {@link largestObject}.
 *
 * Measured with Deployments of 2.9 kB: see docs/decisions/0012.
 */

import { generatedFields } from "../../../sanitising/generated-fields.ts"
import { gvkOf, type SimkubeType } from "../../../sanitising/sanitise.ts"
import { encodeMessagePack } from "../message-pack/message-pack-writer.ts"
import { simdModule } from "./simkube-simd-module.ts"

// Positions in the memory, in bytes: assembly/layout.ts.
const hashStart = 0
const stateStart = 16
const prefixStart = 64
const prefixRoom = 512
const inputStart = 65_536

/** Largest number of bytes to copy. The usual object is a hundredth of it. */
export const largestObject = 256 * 1024
const outputStart = inputStart + largestObject + 64

interface SimdExports {
  readonly memory: WebAssembly.Memory
  readonly encode: (length: number, prefixLength: number, isPod: boolean) => number
  readonly hashOutput: (length: number) => void
}

/** Kinds whose generated fields the module removes; the others with any (Jobs, for example) are rare or rarely exported. */
const coveredKinds: ReadonlySet<string> = new Set(["v1.Pod", "apps/v1.Deployment"])

let shared: { readonly simd: SimkubeSimd | undefined } | undefined

/** One for each thread that encodes. */
export class SimkubeSimd {
  readonly #memory: Uint8Array
  readonly #hash: BigUint64Array
  /** A hash of the object that was encoded or hashed last, 16 bytes. */
  readonly state: Int32Array
  readonly #exports: SimdExports
  #type: SimkubeType | undefined
  #prefixLength = 0
  #isPod = false
  #length = 0

  private constructor(exports: SimdExports) {
    const { buffer } = exports.memory
    this.#memory = new Uint8Array(buffer)
    this.#hash = new BigUint64Array(buffer, hashStart, 1)
    this.state = new Int32Array(buffer, stateStart, 4)
    this.#exports = exports
  }

  /** `undefined` if the processor or the runtime has no SIMD. */
  static create(): SimkubeSimd | undefined {
    try {
      const module = new WebAssembly.Module(Buffer.from(simdModule, "base64"))
      return new SimkubeSimd(new WebAssembly.Instance(module).exports as unknown as SimdExports)
    } catch (error) {
      if (error instanceof WebAssembly.CompileError) return undefined
      throw error
    }
  }

  /** The thread's own; created for the first object, because it has 1.4 MB, of which it touches as much as the largest object needs. */
  static ofThread(): SimkubeSimd | undefined {
    shared ??= { simd: SimkubeSimd.create() }
    return shared.simd
  }

  /** Hashes an object that was encoded elsewhere: {@link state}. False if it is too large. Overwrites {@link encoded}. */
  hashState(bytes: Uint8Array): boolean {
    if (bytes.length > largestObject) return false
    this.#memory.set(bytes, outputStart)
    this.#exports.hashOutput(bytes.length)
    return true
  }

  /** Encodes an object, sanitised and without any owner reference. False if it cannot. */
  encode(type: SimkubeType, bytes: Uint8Array): boolean {
    const { length } = bytes
    if (length > largestObject || !this.#setType(type)) return false
    this.#memory.set(bytes, inputStart)
    this.#length = this.#exports.encode(length, this.#prefixLength, this.#isPod)
    return this.#length > 0
  }

  /** The object encoded last, valid until the next. */
  get encoded(): Uint8Array {
    return this.#memory.subarray(outputStart, outputStart + this.#length)
  }

  /** H of its spec. */
  get hash(): bigint {
    return this.#hash[0] as bigint
  }

  #setType(type: SimkubeType): boolean {
    if (type === this.#type) return this.#prefixLength > 0
    const { apiVersion, kind } = type
    const prefix = Buffer.concat(["apiVersion", apiVersion, "kind", kind].map((text) => encodeMessagePack(text)))
    this.#type = type
    const gvk = gvkOf(type)
    this.#isPod = gvk === "v1.Pod"
    const isCovered = coveredKinds.has(gvk) || !generatedFields.has(gvk)
    this.#prefixLength = isCovered && prefix.length <= prefixRoom ? prefix.length : 0
    if (this.#prefixLength > 0) this.#memory.set(prefix, prefixStart)
    return this.#prefixLength > 0
  }
}
