/** Reads resource versions directly from the bytes of an object. */

import { parseResourceVersion, type ResourceVersion } from "../../resource-version.ts"

/**
 * The version whose digits are at [start, end), equal to what {@link parseResourceVersion} returns for the text. Up to 15 digits, which
 * covers every version that etcd has reached anywhere, it creates no string. `undefined`: the version is opaque.
 */
export const readResourceVersion = (bytes: Buffer, start: number, end: number): ResourceVersion | undefined => {
  const length = end - start
  if (length > 15) return length > 20 ? undefined : parseResourceVersion(bytes.toString("latin1", start, end))
  if (length <= 0) return undefined
  let value = 0
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - 48
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}
