/**
 * Resource versions as values that can be compared (rule 13 of docs/facts/watch-protocol.md): integers of up to 20
 * digits, numbers up to 2^53−1 because they cost no allocation, bigints beyond. `undefined` for other versions: then
 * the caller remembers those it has seen.
 */

/** An integer resource version. `0` never names a state: servers start counting at 1. */
export type ResourceVersion = number | bigint

/** Parses 1–20 decimal digits; `undefined` for anything else (empty, signs, letters): the version is opaque. */
export const parseResourceVersion = (text: string): ResourceVersion | undefined => {
  if (!/^\d{1,20}$/.test(text)) return undefined
  return text.length <= 15 ? Number(text) : normalise(BigInt(text))
}

/** Keeps one representation per value so that `===` means equality. */
const normalise = (value: bigint): ResourceVersion => (value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value)

/** Negative, zero or positive, as `left` is below, equal to or above `right`. Valid only within one epoch. */
export const compareResourceVersions = (left: ResourceVersion, right: ResourceVersion): number =>
  left < right ? -1 : left > right ? 1 : 0
