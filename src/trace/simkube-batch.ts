/**
 * Many objects encoded for a SimKube trace at once: a stateless piece of work for another thread, with few and large
 * things to hand over in either direction. Events do not travel one by one: a message costs more than encoding one.
 *
 * The answer is byte for byte what {@link SimkubeTraceWriter} would have encoded itself.
 */

import { isJsonObject, MalformedJsonError, parseExactJson } from "./exact-json.ts"
import { withoutManagedFields } from "./managed-fields.ts"
import { MessagePackError } from "./message-pack.ts"
import { MessagePackWriter } from "./message-pack-writer.ts"
import { type SimkubeType, sanitise } from "./sanitise.ts"
import { writeSimkubeObject } from "./simkube-object.ts"

/** Objects as the server sent them. Plain data with typed arrays; `objects` owns its memory and may be transferred. */
export interface SimkubeBatch {
  readonly types: ReadonlyArray<SimkubeType>
  /** For each object its type's place in `types`. */
  readonly typeOf: Uint16Array
  /** For each object its length in bytes. */
  readonly lengths: Uint32Array
  /** The objects' JSON, back to back. Encoding overwrites it. */
  readonly objects: Uint8Array<ArrayBuffer>
}

/** The same objects, encoded and in the same order. */
export interface EncodedSimkubeBatch {
  readonly lengths: Uint32Array
  /** H of each object's spec. */
  readonly hashes: BigUint64Array
  /** Back to back; as a rule in the memory that the batch came in. */
  readonly objects: Uint8Array<ArrayBuffer>
  /** The first object that cannot be encoded, and why; those before it are there, those after it are not. */
  readonly failure: { readonly index: number; readonly detail: string } | undefined
}

/** Gathers objects into memory that it is given. */
export class SimkubeBatchBuilder {
  readonly #memory: Uint8Array<ArrayBuffer>
  readonly #types: SimkubeType[] = []
  readonly #typeOf: number[] = []
  readonly #lengths: number[] = []
  #bytes = 0

  constructor(memory: ArrayBuffer) {
    this.#memory = new Uint8Array(memory)
  }

  /** Objects gathered. */
  get count(): number {
    return this.#lengths.length
  }

  /** Copies an object, or answers `false` if it does not fit. `type` is told apart by identity. */
  add(type: SimkubeType, object: Uint8Array): boolean {
    if (this.#bytes + object.length > this.#memory.length) return false
    this.#memory.set(object, this.#bytes)
    this.#bytes += object.length
    const known = this.#types.lastIndexOf(type)
    this.#typeOf.push(known === -1 ? this.#types.push(type) - 1 : known)
    this.#lengths.push(object.length)
    return true
  }

  /** The batch; the builder must not be used after it. */
  finish(): SimkubeBatch {
    return {
      types: this.#types,
      typeOf: Uint16Array.from(this.#typeOf),
      lengths: Uint32Array.from(this.#lengths),
      objects: this.#memory.subarray(0, this.#bytes),
    }
  }
}

/** Encodes a batch. Overwrites `batch.objects` and answers in the same memory if the result fits, as it nearly always does. */
export const encodeSimkubeBatch = (batch: SimkubeBatch): EncodedSimkubeBatch => {
  const count = batch.lengths.length
  const lengths = new Uint32Array(count)
  const hashes = new BigUint64Array(count)
  let failure: EncodedSimkubeBatch["failure"]
  out.clear()
  for (let index = 0, start = 0; index < count; index++) {
    const end = start + (batch.lengths[index] as number)
    const before = out.length
    try {
      const object = parseExactJson(withoutManagedFields(batch.objects.subarray(start, end)))
      if (!isJsonObject(object)) {
        failure = { index, detail: "the recorded bytes are not a JSON object" }
        break
      }
      const type = batch.types[batch.typeOf[index] as number] as SimkubeType
      hashes[index] = writeSimkubeObject(out, sanitise(type, object))
    } catch (error) {
      if (!(error instanceof MessagePackError || error instanceof MalformedJsonError)) throw error
      failure = { index, detail: error.message }
      break
    }
    lengths[index] = out.length - before
    start = end
  }
  return { lengths, hashes, objects: takeOut(batch.objects), failure }
}

/** Scratch beyond this is dropped after use: only a batch with an object of many MiB needs more. */
const KEPT_BYTES = 4 * 1024 * 1024

// One batch at a time: JavaScript runs it to the end, and every thread has its own module.
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
