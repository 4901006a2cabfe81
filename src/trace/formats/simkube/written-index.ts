/**
 * The index of a trace while it is written: H of the spec of every object that was ever in it, and a hash of the last state of those that
 * exist, by which a state that changes nothing is recognized.
 *
 * Memory: 24 bytes for each object, besides its name.
 */
import { hash } from "node:crypto"
import type { SimkubeObject } from "../../sanitising/sanitise.ts"
import { simkubeHash } from "./hash/simkube-hash.ts"
import { MessagePackError } from "./message-pack/message-pack.ts"
import type { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { SimkubeSimd } from "./simd/simkube-simd.ts"

/** An encoded object with H of its spec (see simkube-hash.ts). */
export interface EncodedSimkubeObject {
  readonly bytes: Uint8Array
  readonly hash: bigint
  /** {@link stateHash}, four words; never all zeros. */
  readonly state: Int32Array
}

/** H of an object without spec. */
const NO_SPEC = simkubeHash(undefined)

/** A hash of an encoded object, 16 bytes, by which equal states are recognized within one run. Valid until the next one of this thread. */
export const stateHash = (bytes: Uint8Array): Int32Array => {
  const quick = SimkubeSimd.ofThread()
  if (quick?.hashState(bytes) === true) return quick.state
  // A copy, because a Buffer may start at any byte.
  return new Int32Array(Uint8Array.from(hash("sha1", bytes, "buffer").subarray(0, 16)).buffer)
}

/**
 * Appends an object and returns H of its spec. What was written is not nested too deeply to be hashed.
 * @throws MessagePackError (`depth`, `range`), after which nothing of the object remains in `out`.
 */
export const writeSimkubeObject = (out: MessagePackWriter, object: SimkubeObject): bigint => {
  const start = out.length
  try {
    out.writeMapHeader(3 + object.rest.length)
    out.writeString("apiVersion")
    out.writeString(object.apiVersion)
    out.writeString("kind")
    out.writeString(object.kind)
    out.writeString("metadata")
    out.writeValue(object.metadata, 1)
    let hash = NO_SPEC
    for (const [key, value] of object.rest) {
      out.writeString(key)
      out.writeValue(value, 1)
      if (key === "spec") hash = simkubeHash(value)
    }
    return hash
  } catch (error) {
    if (error instanceof MessagePackError) out.truncate(start)
    throw error
  }
}

/** 32-bit words of a state's hash. */
const words = 4

export class WrittenIndex {
  /** GVK → `namespace/name` → number of the object, by which the columns are indexed. */
  readonly #numbers = new Map<string, Map<string, number>>()
  #hashes = new BigUint64Array(256)
  /** Zeros: it does not exist. */
  #states = new Int32Array(256 * words)
  #count = 0

  has(gvk: string, name: string): boolean {
    return this.#numbers.get(gvk)?.has(name) === true
  }

  /** Remembers an object's state; false if it equals the one before. */
  apply(gvk: string, name: string, { hash, state }: EncodedSimkubeObject): boolean {
    const names = this.#numbers.get(gvk) ?? new Map<string, number>()
    this.#numbers.set(gvk, names)
    const number = names.get(name) ?? this.#add(names, name)
    const at = number * words
    const isSame = state.every((word, index) => word === this.#states[at + index])
    this.#hashes[number] = hash
    this.#states.set(state, at)
    return !isSame
  }

  /** The object was deleted: its next state is a new one, whatever it is. It stays in the index. */
  forget(gvk: string, name: string): void {
    const number = this.#numbers.get(gvk)?.get(name)
    if (number !== undefined) this.#states.fill(0, number * words, (number + 1) * words)
  }

  /** Number of kinds. */
  get size(): number {
    return this.#numbers.size
  }

  *[Symbol.iterator](): Generator<
    readonly [gvk: string, names: Iterable<readonly [string, bigint]> & { size: number }]
  > {
    for (const [gvk, names] of this.#numbers)
      yield [gvk, { size: names.size, [Symbol.iterator]: () => this.#hashesOf(names) }]
  }

  *#hashesOf(names: ReadonlyMap<string, number>): Generator<readonly [name: string, hash: bigint]> {
    for (const [name, number] of names) yield [name, this.#hashes[number] as bigint]
  }

  #add(names: Map<string, number>, name: string): number {
    const number = this.#count++
    names.set(name, number)
    if (number < this.#hashes.length) return number
    const hashes = new BigUint64Array(2 * this.#hashes.length)
    hashes.set(this.#hashes)
    this.#hashes = hashes
    const states = new Int32Array(2 * this.#states.length)
    states.set(this.#states)
    this.#states = states
    return number
  }
}
