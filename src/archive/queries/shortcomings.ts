/**
 * What an answer about the past may lack. Every answer has these; none of them: it is complete.
 *
 * Gaps and late changes concern an answer if they touch its kinds, its namespace and its time: a state is concerned by the gaps that are open at its
 * moment (those closed before it were made up for by the list that closed them), a stretch of time by all that overlap it.
 */
import type { GapEvent, LateChanges } from "../../trace/index.ts"
import { readGaps, readLateRanges } from "../rows/gap-rows.ts"
import type { KeptKind } from "../rows/kind-table.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/**
 * A part of the asked time in which a kind is not recorded. `never`: the kind is not in the recording; `before`: its first list was not complete yet, or what came before is no longer
 * kept; `after`: nothing is known beyond.
 */
interface Unrecorded {
  readonly gvk: string
  /** Empty: all namespaces. */
  readonly namespace: string
  readonly why: "never" | "before" | "after"
  /** µs since the Unix epoch at which it begins (`before`) or ends (`after`) to be recorded; 0 for `never`. */
  readonly time: number
}

/** Everything that an answer may lack. */
export interface Shortcomings {
  /** Changes in these ranges are missing, or what was damaged. */
  readonly gaps: ReadonlyArray<GapEvent>
  readonly unrecorded: ReadonlyArray<Unrecorded>
  /** Nothing of these is missing, but their times are estimates. */
  readonly late: ReadonlyArray<LateChanges>
  /** The kinds of which only some objects are recorded, with the selection that the recorder used. */
  readonly selected: ReadonlyArray<{ readonly gvk: string; readonly selection: string }>
}

/** Nothing is missing. Estimated times and selections that were asked of the recorder are no reason. */
export const isComplete = ({ gaps, unrecorded }: Shortcomings): boolean => gaps.length === 0 && unrecorded.length === 0

/** Which part of the past. */
interface AskedPart {
  /** By name; those that were never recorded as well. */
  readonly kinds: ReadonlyArray<string>
  /** Absent: all. */
  readonly namespace?: string | undefined
  /** µs since the Unix epoch, inclusive; equal: a state. */
  readonly from: number
  readonly to: number
}

/** What is missing of a part, apart from damage. */
export const shortcomingsOf = (
  recording: QueriedRecording,
  part: AskedPart,
  damage: ReadonlyArray<GapEvent> = [],
): Shortcomings => {
  const { kinds, namespace, from, to } = part
  const { cut, database } = recording
  const isAsked = (range: { readonly gvk: string; readonly namespace: string }): boolean =>
    kinds.includes(range.gvk) && (namespace === undefined || range.namespace === "" || range.namespace === namespace)
  const isState = from === to
  const window = { cut, fromTime: from, untilTime: to + 1 }
  const recorded = recording
    .reading(() => readGaps(database, window))
    // A gap is closed by a list, from whose end on the state is known again.
    .filter((gap) => isAsked(gap) && (gap.toTime > from || (!isState && gap.fromTime >= from)))
  const known = kinds.flatMap((gvk) => recording.kindOf(gvk) ?? [])
  return {
    gaps: [...recorded, ...damage],
    unrecorded: [
      ...kinds
        .filter((gvk) => recording.kindOf(gvk) === undefined)
        .map((gvk): Unrecorded => ({ gvk, namespace: "", why: "never", time: 0 })),
      ...known.flatMap((kind) => unrecordedOf(recording, kind, part)),
    ],
    late: recording.reading(() => readLateRanges(database, window)).filter(isAsked),
    selected: known.flatMap(({ gvk, selection }) => (isPart(selection, namespace) ? [{ gvk, selection }] : [])),
  }
}

const unrecordedOf = (
  recording: QueriedRecording,
  kind: KeptKind,
  { namespace, from, to }: AskedPart,
): ReadonlyArray<Unrecorded> => {
  const { gvk, selection, listReason } = kind
  if (namespace !== undefined && namespace !== "" && namespacesIn(selection)?.includes(namespace) === false)
    return [{ gvk, namespace, why: "never", time: 0 }]
  const rows = kind.namespaces
    .filter((row) => namespace === undefined || row.namespace === namespace)
    .map((row) => ({ namespace: row.namespace, since: row.recordedSince }))
  const parts = rows.length > 0 ? rows : [{ namespace: "", since: kind.recordedSince }]
  // While a list is in progress, the objects are partly from before and partly from after it.
  const known = recording.knownUntil(gvk)
  const until = listReason === "" ? known : Math.min(known, kind.completeThroughTime)
  return [
    ...parts.flatMap(({ namespace: within, since }): ReadonlyArray<Unrecorded> => {
      // 0 means the beginning of the recording.
      if (since !== 0 && since <= Math.max(from, from <= 0 ? since : 0)) return []
      return [{ gvk, namespace: within, why: "before", time: since === 0 ? until : since }]
    }),
    ...(to > until && to < NEVER ? [{ gvk, namespace: "", why: "after", time: until } as const] : []),
  ]
}

/** As the end of a part: up to the end of the recording, whenever that is. */
const NEVER = Number.MAX_SAFE_INTEGER

/** The namespaces to which the watcher's selection (src/actors/watcher/selection.ts) is restricted; `undefined`: it is not. */
const namespacesIn = (selection: string): ReadonlyArray<string> | undefined =>
  /^namespaces ([^;]*)/.exec(selection)?.[1]?.split(",")

/**
 * Whether only some of the objects in that namespace, or in all, are recorded. The empty string is the selection of an old recording. Redaction is in the selection as well, but
 * leaves no object out.
 */
const isPart = (selection: string, namespace: string | undefined): boolean => {
  const [first = "", ...others] = selection.split("; ").filter((part) => !part.startsWith("values redacted ("))
  const isOneOfThem = namespace !== undefined && namespacesIn(first)?.includes(namespace) === true
  return others.length > 0 || (first !== "" && first !== "all namespaces" && !isOneOfThem)
}

/** Those of several answers together. */
export const shortcomingsTogether = (all: ReadonlyArray<Shortcomings>): Shortcomings => ({
  gaps: all.flatMap(({ gaps }) => gaps),
  unrecorded: all.flatMap(({ unrecorded }) => unrecorded),
  late: all.flatMap(({ late }) => late),
  selected: all.flatMap(({ selected }) => selected),
})
