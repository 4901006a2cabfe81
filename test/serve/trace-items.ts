/** Small pasts in traces: a morning of a shop, minute by minute. */

import { type Past, TracePast } from "../../src/serve/index.ts"
import {
  type Action,
  type GapEvent,
  memorySpool,
  type ObjectEvent,
  type TraceHeader,
  type TraceItem,
} from "../../src/trace/index.ts"

/** µs since the Unix epoch of the morning's first minute. */
export const morning = Date.parse("2026-11-20T03:00:00Z") * 1000
const minute = 60_000_000

/** Minutes of the morning as µs since the Unix epoch. */
export const at = (minutes: number): number => morning + Math.round(minutes * minute)

export interface Step {
  /** Minutes of the morning. */
  readonly minutes: number
  readonly gvk: string
  readonly name: string
  readonly version: number | string
  readonly action?: Action
  readonly uid?: string
  readonly namespace?: string
  /** Beside apiVersion, kind and metadata. */
  readonly rest?: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
  /** The bytes; default: made of all the above. */
  readonly object?: string
}

const eventOf = (step: Step, sequence: number): ObjectEvent => {
  const { gvk, name, action = "applied", namespace = "shop", version, rest = {}, metadata = {} } = step
  const uid = step.uid ?? `uid-${name}`
  const point = gvk.lastIndexOf(".")
  const object = {
    kind: gvk.slice(point + 1),
    apiVersion: gvk.slice(0, point),
    metadata: { name, ...(namespace !== "" && { namespace }), uid, resourceVersion: String(version), ...metadata },
    ...rest,
  }
  const bytes = action === "vanished" ? Buffer.alloc(0) : Buffer.from(step.object ?? JSON.stringify(object))
  return {
    ...{ type: "object", sequence, time: at(step.minutes), gvk, action, uid, namespace, name },
    ...{ resourceVersion: String(version), object: bytes },
  }
}

export interface Morning {
  readonly steps: ReadonlyArray<Step>
  readonly gaps?: ReadonlyArray<Partial<GapEvent> & { readonly gvk: string }>
  readonly header?: Partial<TraceHeader>
}

/** Steps before minute 0 are the state at the beginning. It ends after an hour. */
export const itemsOf = ({ steps, gaps = [], header = {} }: Morning): ReadonlyArray<TraceItem> => [
  {
    ...{ type: "header", window: { start: at(0), end: at(60) + 1 }, cut: steps.length },
    ...{ kinds: [...new Set(steps.map(({ gvk }) => gvk))], incomplete: [] },
    ...header,
  },
  ...steps.map(
    (step, index): TraceItem => ({
      type: "event",
      event: eventOf(step, index + 1),
      isSnapshot: step.minutes < 0,
    }),
  ),
  ...gaps.map(
    (gap): TraceItem => ({
      type: "event",
      isSnapshot: false,
      event: {
        ...{ type: "gap", sequence: 0, time: gap.toTime ?? 0, namespace: "", fromVersion: "", toVersion: "" },
        ...{ fromTime: 0, toTime: 0, reason: "expired", detail: "" },
        ...gap,
      },
    }),
  ),
]

export const pastOf = (given: Morning): Promise<Past> =>
  TracePast.read(
    "morning.ndjson",
    (async function* chunks() {
      yield itemsOf(given)
    })(),
    memorySpool,
  )
