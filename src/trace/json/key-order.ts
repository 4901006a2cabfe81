/**
 * Object keys in the order of their UTF-8 bytes, the order in which SimKube (Rust, `BTreeMap<String, _>`) hashes and
 * writes them.
 *
 * JavaScript compares UTF-16 code units, which differs if a character outside the Basic Multilingual Plane (a surrogate, D800–DFFF) is
 * compared with one from E000–FFFF.
 */

import type { JsonObject } from "./exact-json.ts"

/** Negative, zero or positive if the UTF-8 bytes of `left` sort below, equal to or above those of `right`. */
export const compareUtf8 = (left: string, right: string): number => {
  const shared = Math.min(left.length, right.length)
  for (let index = 0; index < shared; index++) {
    const a = left.charCodeAt(index)
    const b = right.charCodeAt(index)
    if (a !== b) return codePointRank(a) - codePointRank(b)
  }
  return left.length - right.length
}

/** Moves surrogates above the rest of the plane, as their code points are, without decoding pairs. */
const codePointRank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/**
 * Up to this many keys insertion is faster than the engine's sort: 3.3 against 7.0 µs for all 21 objects of a Deployment's spec, whose keys
 * come in the order of Go's struct fields.
 */
const FEW_KEYS = 24

/** An object's own keys in the order of their UTF-8 bytes; a new array. */
export const sortedKeys = (object: JsonObject): string[] => {
  const keys = Object.keys(object)
  if (keys.length <= FEW_KEYS) return sortFew(keys)
  // The engine's own order of strings is correct for nearly every set of keys.
  keys.sort()
  for (let index = 1; index < keys.length; index++)
    if (compareUtf8(keys[index - 1] as string, keys[index] as string) > 0) return keys.sort(compareUtf8)
  return keys
}

const sortFew = (keys: string[]): string[] => {
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index] as string
    let hole = index
    while (hole > 0 && compareUtf8(keys[hole - 1] as string, key) > 0) {
      keys[hole] = keys[hole - 1] as string
      hole--
    }
    keys[hole] = key
  }
  return keys
}
