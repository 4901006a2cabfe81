/** What a trace lacks, in words: the page hatches it, and says why. */

import type { GapEvent, LateCause } from "../../event.ts"
import type { TraceHeader } from "../../trace-item.ts"

/** Gaps that a file lists: the first ones. */
export const MOST_GAPS = 10_000

/** As the page's `Lack` (src/ui/source/source.ts). */
interface WrittenLack {
  readonly type: "gap" | "unrecorded" | "late"
  readonly gvk: string
  readonly namespace: string
  /** µs since the Unix epoch, both ends inclusive. */
  readonly from: number
  readonly to: number
  readonly why: string
}

const lateCauses: Readonly<Record<LateCause, string>> = {
  stopped: "no recorder was running; when each change happened is an estimate",
  disconnected: "the stream was disconnected; when each change happened is an estimate",
  delayed: "the stream was silent or behind; when each change happened is an estimate",
}

/** In the window. */
export const lacksOf = (
  { incomplete, late = [], withoutStatus = [] }: TraceHeader,
  gaps: ReadonlyArray<GapEvent>,
  { from, to }: { readonly from: number; readonly to: number },
): ReadonlyArray<WrittenLack> => [
  ...gaps.map(
    ({ gvk, namespace, fromTime, toTime, reason, detail }): WrittenLack => ({
      ...{ type: "gap", gvk, namespace, from: fromTime, to: toTime, why: `${reason}: ${detail}` },
    }),
  ),
  ...incomplete.map(
    ({ gvk, namespace = "", state }): WrittenLack => ({
      ...{ type: "unrecorded", gvk, namespace, from, to, why: `the kind was not watched: ${state}` },
    }),
  ),
  ...withoutStatus.map(
    (gvk): WrittenLack => ({
      ...{ type: "gap", gvk, namespace: "", from, to, why: "not every change of status was recorded" },
    }),
  ),
  ...late.map(
    ({ gvk, namespace, notBefore, notAfter, cause }): WrittenLack => ({
      ...{ type: "late", gvk, namespace, from: notBefore, to: notAfter, why: lateCauses[cause] },
    }),
  ),
]
