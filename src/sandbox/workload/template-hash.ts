/**
 * The hash in `pod-template-hash` and `controller-revision-hash`: 32-bit FNV-1a over the template, written in the
 * alphabet of generated names.
 *
 * Same form as the real hash and equally stable: equal templates have equal hashes in every process. The values differ,
 * since the real controllers hash Go's print of the template, which depends on fields of Go types that are not in the
 * API.
 */

import { stableText } from "../../host/cache/same-json.ts"

const offset = 0x811c9dc5
const prime = 0x01000193

/** 32-bit FNV-1a, as an unsigned number. */
export const fnv32a = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime)
  return hash >>> 0
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

/** Decimal digits mapped into the alphabet of generated names (apimachinery rand.SafeEncodeString). */
export const safeEncode = (text: string): string =>
  [...text].map((letter) => letters[letter.charCodeAt(0) % letters.length] ?? "").join("")

/** `collisionCount` is included once two different templates have had the same hash. */
export const hashTemplate = (template: unknown, collisionCount?: number): string => {
  const text = stableText(template)
  const suffix = Buffer.alloc(collisionCount === undefined ? 0 : 8)
  if (collisionCount !== undefined) suffix.writeUInt32LE(collisionCount, 0)
  return safeEncode(String(fnv32a(Buffer.concat([Buffer.from(text), suffix]))))
}

/** 32-bit FNV-1, as an unsigned number: used in names of ControllerRevisions. */
export const fnv32 = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte
  return hash >>> 0
}
