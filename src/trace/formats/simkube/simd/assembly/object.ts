/**
 * Encodes a Kubernetes object as in an event of a SimKube trace: JSON in, MessagePack out, without what sanitise.ts removes, the hash of
 * its spec, and a hash of everything. In WebAssembly with SIMD.
 *
 * Built by scripts/simd.ts into ../simkube-simd-module.ts, which names the sources it was built from.
 *
 * Returns 0 wherever it finds anything unusual, and then the pass through objects decides (simkube-trace-writer.ts): white space, floats and large
 * numbers, surrogates, duplicate keys, metadata of other types, anything malformed, anything large. So what it accepts must be encoded
 * identically, byte for byte.
 */
import { hashNothing } from "./hash"
import { input, output, prefix } from "./layout"
import { forgetMembers } from "./members"
import { ROOT } from "./rules"
import { hashState } from "./state"
import { after, beginObject, copyMap, isMetadataSeen, isSpecSeen } from "./values"

/**
 * Encodes the object that fills the `length` bytes of the input, with `prefixLength` bytes of the prefix. Returns the output's length, or
 * 0.
 */
export function encode(length: usize, prefixLength: usize, isPod: bool): usize {
  const end = input + length
  const zeros = i64x2.splat(0)
  v128.store(end, zeros)
  v128.store(end, zeros, 16)
  if (load<u8>(input) != 123) return 0
  forgetMembers()
  beginObject(isPod)
  memory.copy(output + 1, prefix, prefixLength)
  const last = copyMap(input + 1, output, 0, ROOT, prefixLength)
  // A header for more than 15 members is longer and has moved the prefix: handled correctly, but too rare to be tested.
  if (last == 0 || after != end || load<u8>(output) >= 0x90 || !isMetadataSeen) return 0
  if (!isSpecSeen) hashNothing()
  hashState(output, last)
  return last - output
}

/** Hashes an object of that length in the output. */
export function hashOutput(length: usize): void {
  hashState(output, output + length)
}
