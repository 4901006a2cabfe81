/**
 * Whether the recording covers all of an export's window, kind by kind.
 *
 * The time before a kind's first list was complete is missing from the trace, unless the window begins at 0, which means the start of the
 * recording; `require=all` rejects also that for a kind that was noticed later. Of a recording that is read without its recorder, the time after
 * its end is unknown, and therefore missing. The part of a window that is in the future is no fault, and none of this module's business.
 */
import type { ExportJob, IncompleteKind, RequestedKinds } from "./exporter-interface.ts"

/** µs since the Unix epoch; the end is exclusive. */
export type RequestedWindow = Pick<ExportJob, "fromTime" | "untilTime">

type Lacking = Pick<IncompleteKind, "state" | "fault">

/**
 * µs by which the end of a window may lie ahead of the recorder's clock and still count as now: clocks differ, and SimKube's times are
 * whole seconds.
 */
export const clockTolerance = 10_000_000

/**
 * Why part of the window is not recorded of something that is watched; `undefined` if all of it is. `since`: µs since which it is
 * recorded, if at all.
 */
export const partlyRecorded = (
  window: RequestedWindow,
  since: number | undefined,
  nowMicros: number,
  removedThrough = 0,
): Lacking | undefined =>
  // 0 means the start of the recording.
  window.fromTime <= 0 ? undefined : lackingBefore(window, since, nowMicros, removedThrough)

const lackingBefore = (
  { fromTime, untilTime }: RequestedWindow,
  since: number | undefined,
  nowMicros: number,
  removedThrough: number,
): Lacking | undefined => {
  if (untilTime <= fromTime) return undefined
  if (fromTime > nowMicros + clockTolerance)
    return { state: "unrecorded", fault: "is not recorded in the window, which is in the future" }
  const end = Math.min(untilTime, nowMicros)
  // A kind whose first list is not complete is recorded from now on at best.
  const start = since ?? nowMicros
  if (start <= fromTime) return undefined
  const first = instantOf(Math.ceil(start / 1000))
  const isRemoved = removedThrough > 0 && start === removedThrough + 1
  const fault = isRemoved
    ? `is kept only from ${first} on: retention has removed what was before`
    : `is recorded only from ${first} on`
  if (start >= end) return { state: "unrecorded", fault: `${fault}, after the window` }
  const state = `recorded-${first}/${instantOf(Math.floor(end / 1000))}`
  return { state, fault }
}

/** Since when a part is recorded, the whole recording, and whether the part was not installed when the recorder first looked for it. */
interface Beginnings {
  readonly since: number
  readonly recordingSince: number
  readonly hasAppeared: boolean
  /** Whether it was added later than the recorder had its first lists. */
  readonly isLater?: boolean
}

/**
 * What a recording may have missed at its beginning of a kind that was noticed only while it ran; `undefined` if the kind is recorded from the
 * beginning. Until the recorder noticed a definition, objects of the kind may have been created, changed and deleted unseen.
 */
export const missedAtBeginning = (
  window: RequestedWindow,
  { since, recordingSince, hasAppeared, isLater = false }: Beginnings,
  nowMicros: number,
): Lacking | undefined => {
  if (!hasAppeared && !isLater) return undefined
  const lacking = lackingBefore({ ...window, fromTime: recordingSince }, since, nowMicros, 0)
  if (lacking === undefined) return undefined
  const noticed = hasAppeared ? ", when its definition was noticed" : ""
  const from = instantOf(Math.ceil(since / 1000))
  const fault = `is recorded only from ${from} on${noticed}: the recording begins at ${instantOf(Math.ceil(recordingSince / 1000))}, and what happened to its objects in between is missing`
  return { ...lacking, fault }
}

/**
 * Requested kinds, or requested namespaces of them, that do not hold all of the window: they are not being watched, and were not up to its end, or they were not
 * from its start. `rows` reads what is recorded; it is called only if that matters.
 */
export const incompleteKinds = (
  { parts, nowMicros, knownUntil, fromBeginning = false }: RequestedKinds,
  window: RequestedWindow,
  rows: () => ReadonlyArray<RecordedRow>,
): ReadonlyArray<IncompleteKind> => {
  const isBeginningAsked = window.fromTime <= 0 && fromBeginning
  // A window from 0 on lacks nothing before that, so while every kind is watched, the recording need not be read.
  const isRead =
    fromBeginning || knownUntil !== undefined || window.fromTime > 0 || parts.some(({ state }) => state !== "watching")
  const recorded = isRead ? rows() : []
  const recordingSince = Math.min(...recorded.map(({ since }) => since))
  return parts.flatMap(({ gvk, namespace, state, detail, hasAppeared }): ReadonlyArray<IncompleteKind> => {
    const row = recorded.find((each) => each.gvk === gvk && each.namespace === namespace)
    const lacking =
      lackingAtEnd(window, row, { state, detail }, knownUntil) ??
      (isBeginningAsked && row !== undefined
        ? missedAtBeginning(window, { ...row, recordingSince, hasAppeared }, nowMicros)
        : partlyRecorded(window, row?.since, nowMicros, row?.removedThrough))
    return lacking === undefined ? [] : [{ gvk, namespace, ...lacking }]
  })
}

/**
 * Why a part is not recorded up to the end of the window; `undefined` if it is. What has become of a kind since does not concern a window that
 * it was recorded through. `knownUntil`: as in {@link RequestedKinds}.
 */
const lackingAtEnd = (
  { fromTime, untilTime }: RequestedWindow,
  row: Pick<RecordedRow, "since" | "completeTime"> | undefined,
  { state, detail }: Pick<RequestedKinds["parts"][number], "state" | "detail">,
  knownUntil: number | undefined,
): Lacking | undefined => {
  const isRecordedThrough = row !== undefined && row.completeTime >= untilTime
  if (isRecordedThrough || (state === "watching" && knownUntil === undefined)) return undefined
  if (knownUntil === undefined || (row === undefined && state !== "watching"))
    return {
      state,
      fault: `is ${state === "catching-up" ? "catching up" : state}${detail === "" ? "" : ` (${detail})`}`,
    }
  if (row === undefined) return { state: "unrecorded", fault: "is not recorded" }
  const until = state === "watching" ? knownUntil : row.completeTime + 1
  if (untilTime <= Math.max(fromTime, until)) return undefined
  const start = Math.max(fromTime, row.since)
  const [first, last] = [instantOf(Math.ceil(start / 1000)), instantOf(Math.floor(until / 1000))]
  const fault = `is recorded only ${start > fromTime && fromTime > 0 ? `from ${first} ` : ""}until ${last}`
  return start >= until ? { state: "unrecorded", fault } : { state: `recorded-${first}/${last}`, fault }
}

/** A part whose first list is complete; times are µs since the Unix epoch. */
interface RecordedRow extends Pick<IncompleteKind, "gvk" | "namespace"> {
  readonly since: number
  readonly removedThrough?: number
  readonly isLater?: boolean
  readonly completeTime: number
}

export const instantOf = (milliseconds: number): string =>
  // Bounds outside of any date; they come from clamping.
  Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : `${milliseconds} ms`
