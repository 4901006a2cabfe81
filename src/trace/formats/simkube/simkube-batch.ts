/**
 * Encodes many objects for a SimKube trace at once: a stateless piece of work for another thread, with few large buffers to transfer in
 * either direction. Events are not sent one by one: a message costs more than encoding one.
 *
 * The result is byte for byte what {@link SimkubeTraceWriter} would have encoded itself.
 */

import { isJsonObject, type JsonObject, MalformedJsonError, parseExactJson } from "../../json/exact-json.ts"
import { withoutManagedFields } from "../../sanitising/managed-fields.ts"
import { type SimkubeType, sanitise } from "../../sanitising/sanitise.ts"
import { MessagePackError } from "./message-pack/message-pack.ts"
import { MessagePackWriter } from "./message-pack/message-pack-writer.ts"
import { SimkubeSimd } from "./simd/simkube-simd.ts"
import { stateHash, writeSimkubeObject } from "./simkube-object.ts"

/** UIDs of owners that are in the trace, for objects that have any, by the object's index in the batch. */
type KeptOwners = ReadonlyMap<number, ReadonlyArray<string>>

/** Objects as the server sent them. Plain data with typed arrays; `objects` owns its memory and may be transferred. */
export interface SimkubeBatch {
  readonly types: ReadonlyArray<SimkubeType>
  /** For each object the index of its type in `types`. */
  readonly typeOf: Uint16Array
  /** For each object its length in bytes. */
  readonly lengths: Uint32Array
  readonly keptOwners: KeptOwners
  /** The objects' JSON, back to back. Encoding overwrites it. */
  readonly objects: Uint8Array<ArrayBuffer>
}

/** The same objects, encoded and in the same order. */
export interface EncodedSimkubeBatch {
  readonly lengths: Uint32Array
  /** H of each object's spec. */
  readonly hashes: BigUint64Array
  /** {@link stateHash} of each object, four words. */
  readonly states: Int32Array
  /** Back to back; usually in the memory of the batch. */
  readonly objects: Uint8Array<ArrayBuffer>
  /** The first object that cannot be encoded, and why; those before it are included, those after it are not. */
  readonly failure: { readonly index: number; readonly detail: string } | undefined
}

/** Collects objects in memory that the caller provides. */
export class SimkubeBatchBuilder {
  readonly #memory: Uint8Array<ArrayBuffer>
  readonly #types: SimkubeType[] = []
  readonly #typeOf: number[] = []
  readonly #lengths: number[] = []
  readonly #keptOwners = new Map<number, ReadonlyArray<string>>()
  #bytes = 0

  constructor(memory: ArrayBuffer) {
    this.#memory = new Uint8Array(memory)
  }

  /** Objects collected. */
  get count(): number {
    return this.#lengths.length
  }

  /**
   * Copies an object, or returns `false` if it does not fit. `type` is compared by identity. The object keeps only the owner references
   * whose UIDs are in `keptOwners`.
   */
  add(type: SimkubeType, object: Uint8Array, keptOwners: ReadonlyArray<string> = noOwners): boolean {
    if (this.#bytes + object.length > this.#memory.length) return false
    this.#memory.set(object, this.#bytes)
    this.#bytes += object.length
    const known = this.#types.lastIndexOf(type)
    this.#typeOf.push(known === -1 ? this.#types.push(type) - 1 : known)
    if (keptOwners.length > 0) this.#keptOwners.set(this.#lengths.length, keptOwners)
    this.#lengths.push(object.length)
    return true
  }

  /** The batch; the builder must not be used afterwards. */
  finish(): SimkubeBatch {
    return {
      types: this.#types,
      typeOf: Uint16Array.from(this.#typeOf),
      lengths: Uint32Array.from(this.#lengths),
      keptOwners: this.#keptOwners,
      objects: this.#memory.subarray(0, this.#bytes),
    }
  }
}

const noOwners: ReadonlyArray<string> = []

/** Encodes a batch. Overwrites `batch.objects` and returns the result in the same memory if it fits, as it nearly always does. */
export const encodeSimkubeBatch = (batch: SimkubeBatch): EncodedSimkubeBatch => {
  const count = batch.lengths.length
  const lengths = new Uint32Array(count)
  const hashes = new BigUint64Array(count)
  const states = new Int32Array(4 * count)
  let failure: EncodedSimkubeBatch["failure"]
  out.clear()
  const quick = SimkubeSimd.ofThread()
  for (let index = 0, start = 0; index < count; index++) {
    const end = start + (batch.lengths[index] as number)
    const before = out.length
    const type = batch.types[batch.typeOf[index] as number] as SimkubeType
    const keptOwners = batch.keptOwners.get(index)
    try {
      if (keptOwners === undefined && quick?.encode(type, batch.objects, start, end) === true) {
        out.writeEncoded(quick.encoded)
        hashes[index] = quick.hash
        states.set(quick.state, 4 * index)
      } else {
        const hash = encodeObject(type, batch.objects.subarray(start, end), keptOwners ?? noOwners)
        if (hash === undefined) {
          failure = { index, detail: "the recorded bytes are not a JSON object" }
          break
        }
        hashes[index] = hash
        states.set(stateHash(out.view(before)), 4 * index)
      }
    } catch (error) {
      if (!(error instanceof MessagePackError || error instanceof MalformedJsonError)) throw error
      failure = { index, detail: error.message }
      break
    }
    lengths[index] = out.length - before
    start = end
  }
  return { lengths, hashes, states, objects: takeOut(batch.objects), failure }
}

/**
 * The pass through objects, for unusual JSON; returns H, or `undefined` if it is not an object. Throws MessagePackError,
 * MalformedJsonError.
 */
const encodeObject = (type: SimkubeType, bytes: Uint8Array, keptOwners: ReadonlyArray<string>): bigint | undefined => {
  const object = parseExactJson(withoutManagedFields(bytes))
  if (!isJsonObject(object)) return undefined
  const isOwnerInTrace = ({ uid }: JsonObject): boolean => typeof uid === "string" && keptOwners.includes(uid)
  return writeSimkubeObject(out, sanitise(type, object, isOwnerInTrace))
}

/** Larger scratch memory is dropped after use: only a batch with an object of many MiB needs more. */
const KEPT_BYTES = 4 * 1024 * 1024

// One batch at a time: JavaScript does not interrupt it, and every thread has its own module.
let out = new MessagePackWriter(256 * 1024)

const takeOut = (memory: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> => {
  const { length } = out
  const target =
    length <= memory.buffer.byteLength
      ? new Uint8Array(memory.buffer, 0, length)
      : new Uint8Array(new ArrayBuffer(length))
  target.set(out.view())
  if (length > KEPT_BYTES) out = new MessagePackWriter(256 * 1024)
  return target
}
