/**
 * What `reel record` shows on a terminal while it records: events per second, objects, lag, and the state of every kind.
 *
 * A pure function from numbers to one line that fits. What does not fit is given up in this order: the names of kinds that
 * are watched, uptime, lag and objects (before the names of kinds in trouble), those names, and at last their number.
 */
import type { KindState } from "../../kube/watch/protocol/protocol.ts"
import { visible } from "../../recorder/configuration/quoted.ts"
import { displayWidth } from "../terminal/display-width.ts"
import { formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"

/** What there is to show. */
export interface RecorderStatus {
  readonly eventsPerSecond: number
  /** Live objects of all kinds. */
  readonly objects: number
  /** ms by which the recording is behind the server; `undefined` while nothing is known of it. */
  readonly lagMs: number | undefined
  /** In the order in which they are shown. */
  readonly kinds: ReadonlyArray<{ readonly gvk: string; readonly state: KindState }>
  /** ms since recording began. */
  readonly uptimeMs: number
}

/** Trouble first: what is cut at the right edge should be what is well. */
const stateOrder: readonly KindState[] = ["stopped", "forbidden", "failing", "listing", "waiting", "watching"]

/** The line, at most `columns` wide if there are at least some 12. */
export const renderStatusLine = (status: RecorderStatus, columns: number): string => {
  const candidates = forms(status)
  return candidates.find((line) => displayWidth(line) <= columns) ?? candidates.at(-1) ?? ""
}

const separator = " · "

function forms(status: RecorderStatus): string[] {
  const rate = `${formatInteger(status.eventsPerSecond)} events/s`
  const objects = formatCount(status.objects, "object")
  const lag = status.lagMs === undefined ? [] : [`lag ${formatDuration(status.lagMs)}`]
  const uptime = formatDuration(status.uptimeMs)
  const named = kindsBy(status, () => true)
  const troubled = kindsBy(status, (state) => state !== "watching")
  const watched = status.kinds.filter(({ state }) => state === "watching").length
  const counted = status.kinds.length === 0 ? [] : [`${watched} of ${formatCount(status.kinds.length, "kind")} watched`]
  return [
    [rate, objects, ...lag, ...named, uptime],
    [rate, objects, ...lag, ...troubled, uptime],
    [rate, objects, ...lag, ...troubled],
    [rate, ...troubled],
    [rate, objects, ...lag, ...counted],
    [rate, objects, ...counted],
    [rate, ...counted],
    [rate],
  ].map((parts) => parts.join(separator))
}

/** `watching 3`, or with names `watching Deployment Pod`: one part for each state that occurs. */
const kindsBy = (status: RecorderStatus, isNamed: (state: KindState) => boolean): string[] =>
  stateOrder.flatMap((state) => {
    const kinds = status.kinds.filter((kind) => kind.state === state)
    if (kinds.length === 0) return []
    const what = isNamed(state) ? shortNames(kinds, status).join(" ") : formatInteger(kinds.length)
    return [`${state} ${what}`]
  })

/** The kind alone where that is clear, else with its group. */
const shortNames = (kinds: RecorderStatus["kinds"], status: RecorderStatus): string[] =>
  kinds.map(({ gvk }) => {
    const kind = kindOf(gvk)
    const isClear = status.kinds.filter((other) => kindOf(other.gvk) === kind).length === 1
    return visible(isClear ? kind : gvk)
  })

const kindOf = (gvk: string): string => gvk.slice(gvk.lastIndexOf(".") + 1)
