/**
 * Which segments are compacted together: pure.
 *
 * A **range** is what was compacted at once: partial objects, and the whole one that ends them. New segments become a range of their own, or are joined with
 * ranges before them: going backwards, with each that is no larger than everything behind it, as long as the result has at most 256 MiB.
 *
 * So a range that stays is larger than everything behind it, and a byte is written again only into a range twice as large: from 1 MiB to 256 MiB eight times,
 * and then never again. A stream has a range for each 128 to 256 MiB, and some ten smaller ones.
 */
import type { CompactedObject } from "../stream/manifest.ts"

/** Bytes beyond which ranges are not joined: a compaction needs a disk for one range, not for the stream; and what is superseded at its edges is a block. */
export const RANGE_BYTES: number = 256 * 1024 * 1024

/** Objects of the manifest that count together. */
interface CompactedRange {
  readonly objects: ReadonlyArray<CompactedObject>
  readonly bytes: number
}

export const rangesOf = (compacted: ReadonlyArray<CompactedObject>): ReadonlyArray<CompactedRange> => {
  const ranges: CompactedRange[] = []
  let objects: CompactedObject[] = []
  for (const object of compacted) {
    objects = [...objects, object]
    if (!object.isWhole) continue
    ranges.push({ objects, bytes: objects.reduce((sum, { bytes }) => sum + bytes, 0) })
    objects = []
  }
  return ranges
}

/** How many of the last ranges are compacted again with so many bytes of new segments. */
export const joinedWith = (
  ranges: ReadonlyArray<CompactedRange>,
  newBytes: number,
  rangeBytes: number = RANGE_BYTES,
): number => {
  let [sum, joined] = [newBytes, 0]
  for (const [index, { bytes }] of ranges.toReversed().entries()) {
    if (bytes + sum > rangeBytes) break
    if (bytes <= sum) joined = index + 1
    sum += bytes
  }
  return joined
}

/** The part of the time for which a stream is kept by which it may be longer: what lives on is written anew at most ten times in that time. */
const SLACK = 1 / 10

/** How many of the first ranges have something older than what is kept, once it is due to be dropped; 0: it is not. Times in µs. */
export const overdue = (
  ranges: ReadonlyArray<CompactedRange>,
  keptFrom: number,
  { nowMicros, keepMicros }: { readonly nowMicros: number; readonly keepMicros: number },
): number => {
  const oldest = nowMicros - keepMicros
  const froms = ranges.map(({ objects }) => objects.at(-1)?.fromTime ?? 0)
  const begins = Math.max(keptFrom, froms.find((from) => from > 0) ?? nowMicros)
  return oldest - begins < keepMicros * SLACK ? 0 : froms.findLastIndex((from) => from > 0 && from < oldest) + 1
}

/** How many of the first ranges are copied at once to drop what is old: up to half a range, and the one behind that. */
export const atOnce = (ranges: ReadonlyArray<CompactedRange>, rangeBytes: number = RANGE_BYTES): number => {
  let [sum, count] = [0, 0]
  for (const { bytes } of ranges) {
    if (sum > rangeBytes / 2) break
    sum += bytes
    count++
  }
  return count
}
