/** What an answer lacks, as it is drawn over lanes. */
import type { TileRange } from "../../../timeline/index.ts"
import type { Shortcomings } from "../shortcomings.ts"

/** Those that concern the objects of a kind in a namespace; an object in no namespace is in the one with the empty name. */
export const rangesOf = (lacks: Shortcomings, gvk: string, namespace: string): ReadonlyArray<TileRange> => {
  const concerns = (range: { readonly gvk: string; readonly namespace: string }): boolean =>
    range.gvk === gvk && (range.namespace === "" || range.namespace === namespace)
  return [
    ...lacks.gaps
      .filter(concerns)
      .map(({ fromTime, toTime }): TileRange => ({ type: "gap", from: fromTime, to: toTime })),
    ...lacks.late
      .filter(concerns)
      .map(({ notBefore, notAfter }): TileRange => ({ type: "late", from: notBefore, to: notAfter })),
    ...lacks.unrecorded.filter(concerns).map(({ why, time }): TileRange => {
      const [from, to] = why === "before" ? [0, time - 1] : why === "after" ? [time + 1, LAST] : [0, LAST]
      return { type: "unrecorded", from, to }
    }),
  ]
}

/** µs since the Unix epoch: later than every window. */
const LAST = Number.MAX_SAFE_INTEGER
