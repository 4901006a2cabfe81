/**
 * The hash in `pod-template-hash` and `controller-revision-hash`: FNV-1a of 32 bits over the template, written with the
 * letters of generated names.
 *
 * Same form as the real one and as stable: equal templates have equal hashes in every process. The digits differ, as the
 * real controllers hash Go's print of the template, which depends on fields of Go types that no API shows.
 */

import { stableText } from "../../host/same-json.ts"

const offset = 0x811c9dc5
const prime = 0x01000193

/** FNV-1a of 32 bits, as an unsigned number. */
export const fnv32a = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime)
  return hash >>> 0
}

const letters = "bcdfghjklmnpqrstvwxz2456789"

/** Decimal digits mapped into the alphabet of generated names (apimachinery rand.SafeEncodeString). */
export const safeEncode = (text: string): string =>
  [...text].map((letter) => letters[letter.charCodeAt(0) % letters.length] ?? "").join("")

/** `collisionCount` is mixed in once two different templates had one hash. */
export const hashTemplate = (template: unknown, collisionCount?: number): string => {
  const text = stableText(template)
  const suffix = Buffer.alloc(collisionCount === undefined ? 0 : 8)
  if (collisionCount !== undefined) suffix.writeUInt32LE(collisionCount, 0)
  return safeEncode(String(fnv32a(Buffer.concat([Buffer.from(text), suffix]))))
}

/** FNV-1 of 32 bits, as an unsigned number: what ControllerRevisions are named with. */
export const fnv32 = (bytes: Uint8Array): number => {
  let hash = offset
  for (const byte of bytes) hash = Math.imul(hash, prime) ^ byte
  return hash >>> 0
}
