/** What a trace lacks, in words: the page hatches it, and says why. */

import type { Lack } from "../../../timeline/index.ts"
import type { GapEvent, LateCause } from "../../event.ts"
import type { TraceHeader } from "../../trace-item.ts"

/** Gaps that a file lists: the first ones. */
export const MOST_GAPS = 10_000

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
): ReadonlyArray<Lack> => [
  ...gaps.map(
    ({ gvk, namespace, fromTime, toTime, reason, detail }): Lack => ({
      ...{ type: "gap", gvk, namespace, from: fromTime, to: toTime, why: `${reason}: ${detail}` },
    }),
  ),
  ...incomplete.map(
    ({ gvk, namespace = "", state }): Lack => ({
      ...{ type: "unrecorded", gvk, namespace, from, to, why: `the kind was not watched: ${state}` },
    }),
  ),
  ...withoutStatus.map(
    (gvk): Lack => ({
      ...{ type: "gap", gvk, namespace: "", from, to, why: "not every change of status was recorded" },
    }),
  ),
  ...late.map(
    ({ gvk, namespace, notBefore, notAfter, cause }): Lack => ({
      ...{ type: "late", gvk, namespace, from: notBefore, to: notAfter, why: lateCauses[cause] },
    }),
  ),
]
