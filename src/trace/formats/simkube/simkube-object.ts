/** Encodes one object as in an event of a SimKube trace, and computes its hash for the index. */

import { hash } from "node:crypto"
import type { SimkubeObject } from "../../sanitising/sanitise.ts"
import { hashEncodedValue } from "./hash/simkube-encoded-hash.ts"
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
 * Appends an object and returns H of its spec. The writer limits nesting, so hashing what it wrote cannot exceed the limit.
 *
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
      const valueStart = out.length
      out.writeValue(value, 1)
      if (key === "spec") hash = hashEncodedValue(out.view(valueStart))
    }
    return hash
  } catch (error) {
    if (error instanceof MessagePackError) out.truncate(start)
    throw error
  }
}
