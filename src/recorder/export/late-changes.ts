/**
 * What an export says of changes that were received later than they happened: none of them is missing, but their times are estimates.
 *
 * A change can be anywhere in its range. If the range reaches across an end of the window, the change may be in the window although it
 * happened outside, or outside although it happened in the window. In a window by the times of receipt nothing is an estimate, but it holds
 * what happened before it, and lacks what happened in it.
 */
import type { EventTimes, LateCause, LateChanges } from "../../trace/index.ts"
import { headerList } from "./response-sink.ts"

/** µs since the Unix epoch; the end is exclusive. */
interface Window {
  readonly fromTime: number
  readonly untilTime: number
}

/** Ends of the window across which the changes may belong. */
export type Across = "start" | "end" | "start+end"

/** The last moment at which one of the changes may have happened: no change is received before it happens. */
export const latestOf = ({ notAfter, receivedTo }: Pick<LateChanges, "notAfter" | "receivedTo">): number =>
  Math.min(notAfter, receivedTo)

/** The ends of the window across which changes between two times may belong; `undefined`: all of them happened in it. */
export const acrossOf = (
  [from, to]: readonly [number, number],
  { fromTime, untilTime }: Window,
): Across | undefined => {
  const start = from < fromTime
  const end = to >= untilTime
  if (start && end) return "start+end"
  return start ? "start" : end ? "end" : undefined
}

/** One late range as a header names it; times are µs since the Unix epoch. */
export interface LateFacts {
  readonly gvk: string
  readonly namespace: string
  readonly events: number
  /** Between these times the changes happened. */
  readonly happened: readonly [from: number, to: number]
  readonly received: readonly [from: number, to: number]
  readonly cause: LateCause
  readonly across: Across | undefined
}

export const lateFactsOf = (late: LateChanges, window: Window, times: EventTimes): LateFacts => {
  const { gvk, namespace, events, cause } = late
  const happened = [late.notBefore, latestOf(late)] as const
  const across = times === "received" ? undefined : acrossOf(happened, window)
  return { gvk, namespace, events, happened, received: [late.receivedFrom, late.receivedTo], cause, across }
}

/** Characters of the header: some clients limit all headers together to 8 KB. */
const longestHeader = 2000

/**
 * For a header: `v1.Pod in shop=37; happened=FROM/TO; received=FROM/TO; cause=stopped; across=start, …`, followed by the number of ranges
 * that did not fit; `undefined` if nothing was late.
 */
export const describeLate = (late: ReadonlyArray<LateFacts>): string | undefined =>
  headerList(late.map(textOf), longestHeader, (shown) => `${late.length - shown} more`)

const textOf = ({ gvk, namespace, events, happened, received, cause, across }: LateFacts): string =>
  [
    `${gvk}${namespace === "" ? "" : ` in ${namespace}`}=${events}`,
    `happened=${interval(happened)}`,
    `received=${interval(received)}`,
    `cause=${cause}`,
    ...(across === undefined ? [] : [`across=${across}`]),
  ].join("; ")

const interval = ([from, to]: readonly [number, number]): string => `${instant(from)}/${instant(to)}`

/** RFC 3339 with all of the µs, so that nothing is rounded out of its range. */
const instant = (micros: number): string => {
  const fraction = String(micros % 1_000_000).padStart(6, "0")
  return `${new Date(Math.floor(micros / 1_000_000) * 1000).toISOString().slice(0, 19)}.${fraction}Z`
}

/** What violates `require=all`, for people; `undefined` if nothing was late. */
export const lateFault = (late: ReadonlyArray<LateFacts>): string | undefined => {
  if (late.length === 0) return undefined
  const first = late.slice(0, shownFaults).map(({ gvk, namespace, events, happened: [from, to] }) => {
    const what = `${events} ${events === 1 ? "change" : "changes"} of ${gvk}${namespace === "" ? "" : ` in namespace ${namespace}`}`
    return `${what} between ${instant(from)} and ${instant(to)}`
  })
  const more = late.length > shownFaults ? ` and ${late.length - shownFaults} more ranges` : ""
  return `${first.join(", ")}${more} ${isOne(late) ? "was" : "were"} received later than ${isOne(late) ? "it" : "they"} happened, so the times are estimates (require: complete accepts that)`
}

/** Ranges named in a message; the header has all that fit. */
const shownFaults = 3

const isOne = (late: ReadonlyArray<LateFacts>): boolean => late.length === 1 && late[0]?.events === 1
