/**
 * Whether the recording covers all of an export's window, kind by kind.
 *
 * A recording that continues lacks two parts of a window: the time before a kind's first list was complete, and the future. The former is reported as
 * missing from the trace, unless the window begins at 0, which means the start of the recording; `require=all` rejects also that for a kind
 * that was noticed later. The latter has a header of its own and is no fault: many requests name an end far in the future to get everything up
 * to now, as SimKube permits. Only `require=all` rejects a window that has not ended, and every export one that has not begun.
 *
 * Of a recording that is read without its recorder, the time after its end is unknown, and therefore missing.
 */
import * as Effect from "effect/Effect"
import type { ExportRefusal } from "../http/body/http-answer.ts"
import type { KindStatus } from "../status/kind-status.ts"
import type { Reach, Recording } from "./recording.ts"

/** A window of an export: µs since the Unix epoch, the end is exclusive. */
interface RequestedWindow {
  readonly fromTime: number
  readonly untilTime: number
}

/** A kind, or one namespace of a kind that is recorded namespace by namespace. */
interface RecordedPart {
  readonly gvk: string
  /** Empty: all that is recorded of the kind. */
  readonly namespace: string
}

/** A requested kind, or namespace of one, that is incomplete in the trace, and why. */
export interface IncompleteKind extends RecordedPart {
  /**
   * The value in the header and the trace: the state of a kind that is not being watched; `untracked` for a kind that this recorder does
   * not record; `unrecorded` if nothing of the window is recorded; else `recorded-START/END`, RFC 3339: the recorded part.
   */
  readonly state: string
  /** One sentence for people, without the names of kind and namespace. */
  readonly fault: string
}

type Lacking = Omit<IncompleteKind, keyof RecordedPart>

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
): Omit<IncompleteKind, keyof RecordedPart> | undefined =>
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
  const first = instant(Math.ceil(start / 1000))
  const isRemoved = removedThrough > 0 && start === removedThrough + 1
  const fault = isRemoved
    ? `is kept only from ${first} on: retention has removed what was before`
    : `is recorded only from ${first} on`
  if (start >= end) return { state: "unrecorded", fault: `${fault}, after the window` }
  const state = `recorded-${first}/${instant(Math.floor(end / 1000))}`
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
): Omit<IncompleteKind, keyof RecordedPart> | undefined => {
  if (!hasAppeared && !isLater) return undefined
  const lacking = lackingBefore({ ...window, fromTime: recordingSince }, since, nowMicros, 0)
  if (lacking === undefined) return undefined
  const noticed = hasAppeared ? ", when its definition was noticed" : ""
  const from = instant(Math.ceil(since / 1000))
  const fault = `is recorded only from ${from} on${noticed}: the recording begins at ${instant(Math.ceil(recordingSince / 1000))}, and what happened to its objects in between is missing`
  return { ...lacking, fault }
}

/** Why a window that has not begun is rejected; `undefined` if it has, or is empty. */
export const notBegun = ({ fromTime, untilTime }: RequestedWindow, nowMicros: number): string | undefined =>
  fromTime < untilTime && fromTime > nowMicros + clockTolerance
    ? `the window starts at ${instant(Math.floor(fromTime / 1000))}, which is in the future; it is now ${instant(Math.floor(nowMicros / 1000))}`
    : undefined

/** The part of a window that is in the future, `START/END` for a header; `undefined` if it has ended. */
export const futureOf = (window: RequestedWindow, nowMicros: number): string | undefined =>
  aheadOfNow(window, nowMicros) === undefined
    ? undefined
    : [nowMicros, window.untilTime].map((micros) => instant(Math.floor(micros / 1000))).join("/")

/** The reason to reject `require=all` for a window that has not ended; `undefined` if it has. */
export const aheadOfNow = ({ fromTime, untilTime }: RequestedWindow, nowMicros: number): string | undefined =>
  untilTime > Math.max(fromTime, nowMicros + clockTolerance)
    ? `the window ends at ${instant(Math.floor(untilTime / 1000))}, which is in the future; it is now ${instant(Math.floor(nowMicros / 1000))}`
    : undefined

const instant = (milliseconds: number): string =>
  // Bounds outside of any date; they come from clamping.
  Math.abs(milliseconds) <= 8.64e15 ? new Date(milliseconds).toISOString() : `${milliseconds} ms`

/**
 * Kinds that were requested by name and are not recorded: a misspelt kind must not look like one without objects. Patterns only match
 * recorded kinds.
 */
export const untrackedKinds = (
  wanted: ReadonlyArray<string> = [],
  tracked: ReadonlyArray<Pick<KindStatus, "gvk">>,
): ReadonlyArray<IncompleteKind> => {
  const known = new Set(tracked.map(({ gvk }) => gvk))
  const names = new Set(wanted.filter((name) => !known.has(name) && !/[*?]/.test(name)))
  return [...names].map((gvk) => ({
    gvk,
    namespace: "",
    state: "untracked",
    fault: "is not recorded by this recorder",
  }))
}

/** Characters of a header: some clients limit all headers together to 8 KB; a kind takes about 70. */
const longestHeader = 4000

/** For a header and for people: `v1.Pod=forbidden`, `v1.Pod in shop=forbidden`. */
export const describePart = ({ gvk, namespace, state }: Omit<IncompleteKind, "fault">): string =>
  `${gvk}${namespace === "" ? "" : ` in ${namespace}`}=${state}`

/** For a header: `v1.Pod=forbidden, …`, followed by the number of kinds that did not fit; `undefined` when nothing is missing. */
export const describeIncomplete = (kinds: ReadonlyArray<IncompleteKind>): string | undefined => {
  const text = kinds.map(describePart)
  for (let length = 0, index = 0; index < text.length; index++) {
    length += (text[index] as string).length + 2
    if (length <= longestHeader) continue
    const left = kinds.slice(index)
    const isYoung = left.every(({ state }) => state === "unrecorded" || state.startsWith("recorded-"))
    text.splice(index, left.length, `${left.length} more=${isYoung ? "recorded-in-part" : "incomplete"}`)
  }
  // Names come from the request, and a header allows no other characters.
  return text.length === 0 ? undefined : text.join(", ").replaceAll(/[^ -~]/g, "?")
}

/**
 * What lacks something: requested kinds, or requested namespaces of them, that do not hold all of the window: they are not being watched, and
 * were not up to its end, or they were not from its start.
 * `statuses`: as far as they are requested. `beginning`: name also kinds that were noticed while the recorder ran, for a window from 0.
 */
export const incompleteKinds = (
  { reader, knownUntil }: Pick<Recording, "reader"> & Pick<Reach, "knownUntil">,
  statuses: ReadonlyArray<KindStatus>,
  window: RequestedWindow,
  nowMicros: number,
  beginning?: { readonly hasAppeared: (gvk: string) => boolean },
): Effect.Effect<ReadonlyArray<IncompleteKind>, ExportRefusal> => {
  const isFromBeginning = window.fromTime <= 0
  const isRead = beginning !== undefined || knownUntil !== undefined || needsRows(statuses, window)
  return Effect.map(isRead ? reader.ask("recordedSince", undefined) : nothingRead, (rows) => {
    const recordingSince = Math.min(...rows.map(({ since }) => since))
    return statuses.flatMap(partsOf).flatMap(({ gvk, namespace, state, detail }): ReadonlyArray<IncompleteKind> => {
      const row = rows.find((each) => each.gvk === gvk && each.namespace === namespace)
      const fault = lackingAtEnd(window, row, { state, detail }, knownUntil)
      if (fault !== undefined) return [{ gvk, namespace, ...fault }]
      const lacking =
        isFromBeginning && beginning !== undefined && row !== undefined
          ? missedAtBeginning(window, { ...row, recordingSince, hasAppeared: beginning.hasAppeared(gvk) }, nowMicros)
          : partlyRecorded(window, row?.since, nowMicros, row?.removedThrough)
      return lacking === undefined ? [] : [{ gvk, namespace, ...lacking }]
    })
  })
}

interface PartState {
  readonly state: KindStatus["state"]
  readonly detail: string
}

/**
 * Why a part is not recorded up to the end of the window; `undefined` if it is. What has become of a kind since does not concern a window that
 * it was recorded through. `knownUntil`: as in {@link Reach}.
 */
const lackingAtEnd = (
  { fromTime, untilTime }: RequestedWindow,
  row: Pick<RecordedRow, "since" | "completeTime"> | undefined,
  { state, detail }: PartState,
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
  const [first, last] = [instant(Math.ceil(start / 1000)), instant(Math.floor(until / 1000))]
  const fault = `is recorded only ${start > fromTime && fromTime > 0 ? `from ${first} ` : ""}until ${last}`
  return start >= until ? { state: "unrecorded", fault } : { state: `recorded-${first}/${last}`, fault }
}

/** What of a kind has a state of its own. */
const partsOf = ({ gvk, state, detail, namespaces }: KindStatus) =>
  namespaces.length === 0 ? [{ gvk, namespace: "", state, detail }] : namespaces.map((each) => ({ gvk, ...each }))

/** A window from 0 on lacks nothing before that, so while every kind is watched, the recording need not be read. */
const needsRows = (statuses: ReadonlyArray<KindStatus>, { fromTime }: RequestedWindow): boolean =>
  fromTime > 0 || statuses.flatMap(partsOf).some(({ state }) => state !== "watching")

interface RecordedRow extends RecordedPart {
  readonly since: number
  readonly removedThrough?: number
  readonly isLater?: boolean
  readonly completeTime: number
}

const nothingRead: Effect.Effect<ReadonlyArray<RecordedRow>> = Effect.succeed([])
