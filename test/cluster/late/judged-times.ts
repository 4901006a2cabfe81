/** What a recorder says about when changes happened, compared with the truth. */
import type { TrueChange, TrueTimes } from "./true-times.ts"

/** A recorded change whose true time is known. */
export interface JudgedChange {
  readonly change: TrueChange
  readonly isLate: boolean
  /** Of a late change: one of its ranges contains the true time. */
  readonly isWithinBounds: boolean
  /** The API server no longer had the changes of that time when the recorder asked for them, and a gap says so: the time is that of a list. */
  readonly isInGap: boolean
  /** s by which the recorded time is off. */
  readonly error: number
}

/** s by which an estimate may be off. */
export const closeSeconds = 1.5
/** s by which a change may be received later and still be live: what was written more than 3 s ago is late (docs/facts/watch-protocol.md, rule 14). */
export const liveSeconds = 3

/** A line of a trace, as far as it is judged. Times are µs. */
interface Line {
  readonly gvk: string
  readonly uid: string
  readonly name: string
  readonly resourceVersion: string
  readonly time: number
  readonly received?: number
}

interface Range {
  readonly gvk: string
  readonly notBefore: number
  readonly notAfter: number
  readonly receivedFrom: number
  readonly receivedTo: number
}

interface Gap {
  readonly action: "gap"
  readonly gvk: string
  readonly fromTime: number
  readonly toTime: number
}

interface Trace {
  readonly late: ReadonlyArray<Range>
  readonly lines: ReadonlyArray<Line>
  readonly gaps: ReadonlyArray<Gap>
}

/** A window of a recording; µs since the Unix epoch. */
export interface Window {
  readonly from: number
  readonly until: number
}

const post = async (address: string, window: Window | undefined, more: object): Promise<string> => {
  const filters = { excluded_namespaces: [], excluded_labels: [] }
  const times = window === undefined ? { end_ts: 4_000_000_000 } : { start_time: window.from, end_time: window.until }
  const request = {
    start_ts: 0,
    end_ts: 0,
    ...times,
    export_path: "file:///export",
    format: "ndjson",
    filters,
    ...more,
  }
  const response = await fetch(`${address}/export`, { method: "POST", body: JSON.stringify(request) })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`the export failed with ${response.status}: ${text}`)
  return text
}

/** Everything of a window, or of the whole recording. */
const exported = async (address: string, window?: Window): Promise<Trace> => {
  const [header = "", ...lines] = (await post(address, window, {})).trimEnd().split("\n")
  const { late = [] } = JSON.parse(header) as { readonly late?: ReadonlyArray<Range> }
  const all = lines.map((line) => JSON.parse(line) as Partial<Line> | Gap)
  const gaps = all.filter((line) => "action" in line && line.action === "gap") as ReadonlyArray<Gap>
  return { late, gaps, lines: all.filter((line) => "uid" in line) as ReadonlyArray<Line> }
}

/** Whether the recording at that address has the ConfigMap. */
export const isRecorded = async (address: string, name: string): Promise<boolean> => {
  const { lines } = await exported(address)
  return lines.some((line) => line.gvk === "v1.ConfigMap" && line.name === name)
}

/** Each recorded change of which the truth is known. `observedWithin`: µs by which the truth may be later than the change. */
export const judgeTimes = async (
  address: string,
  truth: TrueTimes,
  observedWithin: number,
): Promise<ReadonlyArray<JudgedChange>> => {
  const { late, lines, gaps } = await exported(address)
  return lines.flatMap(({ gvk, uid, resourceVersion, time, received }) => {
    const change = truth.of(uid, resourceVersion)
    if (change === undefined) return []
    const { micros } = change
    const isWithinBounds =
      received !== undefined &&
      late.some(
        (range) =>
          range.gvk === gvk &&
          received >= range.receivedFrom &&
          received <= range.receivedTo &&
          micros >= range.notBefore &&
          micros <= Math.min(range.notAfter, received) + observedWithin,
      )
    const isInGap = gaps.some(
      (gap) => gap.gvk === gvk && micros >= gap.fromTime && micros <= gap.toTime + observedWithin,
    )
    return [{ change, isLate: received !== undefined, isWithinBounds, isInGap, error: (time - micros) / 1e6 }]
  })
}

/** The share of them that were recorded within so many seconds of the truth; 1 of none. */
export const closeShare = (judged: ReadonlyArray<JudgedChange>, seconds: number): number =>
  judged.length === 0 ? 1 : judged.filter(({ error }) => Math.abs(error) <= seconds).length / judged.length

/** For the message of a failed test. */
export const worstOf = (judged: ReadonlyArray<JudgedChange>): string =>
  judged
    .toSorted((one, other) => Math.abs(other.error) - Math.abs(one.error))
    .slice(0, 12)
    .map(({ change, error, isLate }) => {
      const { gvk, type, version } = change
      return `${gvk} ${type} ${version} ${isLate ? "late" : "live"} ${error.toFixed(2)} s`
    })
    .join("\n")

/** A version that only the recorded window has, or only the true one. */
export interface WindowDifference {
  readonly change: TrueChange
  /** Whether no estimate can tell: it happened within {@link closeSeconds} of an end of the window, or its estimate is off by more, or the next change of the object, which it depends on for being the state at the start. */
  readonly isExcused: boolean
  /**
   * Whether the recorder says that changes of the kind may belong across an end of the window, or that changes are missing. Live changes, which
   * are received some ms after they happened, need not be announced.
   */
  readonly isAnnounced: boolean
}

/**
 * In what a window of the recording differs from what happened. Of objects that were created under observation, by the changes that
 * are recorded: a version without relevant changes is not.
 */
export const judgeWindow = async (
  address: string,
  window: Window,
  judged: ReadonlyArray<JudgedChange>,
): Promise<ReadonlyArray<WindowDifference>> => {
  const { lines } = await exported(address, window)
  const announced = await kindsAcross(address, window)
  const recorded = Map.groupBy(lines, ({ uid }) => uid)
  const lacking = new Set(judged.filter(({ isInGap }) => isInGap).map(({ change }) => change))
  const late = new Set(judged.filter(({ isLate }) => isLate).map(({ change }) => change))
  const poor = new Set(
    judged.filter(({ error, isInGap }) => isInGap || Math.abs(error) > closeSeconds).map(({ change }) => change),
  )
  const isDoubtful = (change: TrueChange): boolean =>
    poor.has(change) || [window.from, window.until].some((end) => Math.abs(end - change.micros) <= closeSeconds * 1e6)
  const objects = Map.groupBy(
    judged.map(({ change }) => change),
    ({ uid }) => uid,
  )
  return [...objects.values()].flatMap((changes) => {
    if (changes[0]?.type !== "ADDED") return []
    const here = new Set(recorded.get(changes[0]?.uid ?? "")?.map(({ resourceVersion }) => resourceVersion))
    const there = new Set(trueContent(changes, window).map(({ version }) => version))
    return changes.flatMap((change, index) => {
      if (here.has(change.version) === there.has(change.version)) return []
      const next = changes[index + 1] ?? change
      const isLive = !(late.has(change) || late.has(next))
      const isAnnounced = isLive || announced.has(change.gvk) || lacking.has(change) || lacking.has(next)
      return [{ change, isExcused: isDoubtful(change) || isDoubtful(next), isAnnounced }]
    })
  })
}

/** The state of an object at the start of the window, and its changes in it. */
const trueContent = (changes: ReadonlyArray<TrueChange>, { from, until }: Window): ReadonlyArray<TrueChange> => {
  const before = changes.findLast(({ micros }) => micros < from)
  const inside = changes.filter(({ micros }) => micros >= from && micros < until)
  return before === undefined || before.type === "DELETED" ? inside : [before, ...inside]
}

interface Forecast {
  readonly kinds: ReadonlyArray<{ readonly gvk: string; readonly late: ReadonlyArray<{ readonly across?: string }> }>
}

/** Kinds with late changes that may belong across an end of the window. */
const kindsAcross = async (address: string, window: Window): Promise<ReadonlySet<string>> => {
  const { kinds } = JSON.parse(await post(address, window, { dry_run: true })) as Forecast
  return new Set(kinds.filter(({ late }) => late.some(({ across }) => across !== undefined)).map(({ gvk }) => gvk))
}
