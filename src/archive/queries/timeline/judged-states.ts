/** How states of objects are, as they are judged for a time line; what was judged is kept, so that a page which looks again reads no object. */
import { healthOf, isAlwaysPlain, type PartHealth, partsOf, tones } from "../../../timeline/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import type { DamageFound } from "../damage-found.ts"
import type { Judged, TimelineCache } from "./timeline-cache.ts"

const noParts: ReadonlyArray<PartHealth> = []

/**
 * How the state is that an event led to; reads its object unless it is known. One that is damaged, which is noted, or no JSON, counts as plain.
 * `withParts`: also the rows below it.
 */
export const judge = (
  cache: TimelineCache,
  damage: DamageFound,
  kind: KeptKind,
  { sequence, withParts }: { readonly sequence: number; readonly withParts: boolean },
): Judged => {
  if (isAlwaysPlain(kind.gvk)) return { tone: tones.plain, parts: noParts }
  const known = cache.judged(sequence)
  if (known !== undefined && (known.parts !== undefined || !withParts)) return known
  const object = damage.event(kind, sequence)?.object
  if (object === undefined) return { tone: tones.plain, parts: noParts }
  const value = plainJsonIn(object)
  const judged = { tone: healthOf(kind.gvk, value).tone, parts: withParts ? partsOf(kind.gvk, value) : undefined }
  cache.keepJudged(sequence, judged)
  return judged
}

/** `undefined`: it is no JSON. Numbers that a double does not hold are of no importance here. */
export const plainJsonIn = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"))
  } catch {
    return undefined
  }
}
