/**
 * The status line of `reel record` on a terminal: events per second, objects, lag, and the state of every kind.
 *
 * A pure function from numbers to one line that fits. If the line is too long, parts are dropped in this order: the names of
 * watched kinds, uptime, lag and objects, the names of kinds in trouble (replaced by a count), and finally the count.
 */
import type { KindState } from "../../kube/index.ts"
import { visible } from "../../text/index.ts"
import { displayWidth } from "../terminal/display-width.ts"
import { formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"

/** The values to show. */
export interface RecorderStatus {
  readonly eventsPerSecond: number
  /** Live objects of all kinds. */
  readonly objects: number
  /** ms by which the recording is behind the server; `undefined` while unknown. */
  readonly lagMs: number | undefined
  /** How far it is archived; `undefined`: it is not. */
  readonly archive?: { readonly lagSeconds: number; readonly trouble?: string } | undefined
  /** In display order. */
  readonly kinds: ReadonlyArray<{ readonly gvk: string; readonly state: KindState }>
  /** ms since recording began. */
  readonly uptimeMs: number
}

/** Trouble first, so that healthy kinds are cut off at the right edge. */
const stateOrder: readonly KindState[] = [
  ...(["stopped", "forbidden", "failing", "listing", "catching-up", "waiting", "watching"] as const),
]

/** The line, at most `columns` wide if `columns` is at least about 12. */
export const renderStatusLine = (status: RecorderStatus, columns: number): string => {
  const candidates = forms(status)
  return candidates.find((line) => displayWidth(line) <= columns) ?? candidates.at(-1) ?? ""
}

const separator = " · "

function forms(status: RecorderStatus): string[] {
  const rate = `${formatInteger(status.eventsPerSecond)} events/s`
  const objects = formatCount(status.objects, "object")
  const lag = [
    ...(status.lagMs === undefined ? [] : [`lag ${formatDuration(status.lagMs)}`]),
    ...(status.archive === undefined ? [] : [archiveText(status.archive)]),
  ]
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

const archiveText = ({ lagSeconds, trouble }: NonNullable<RecorderStatus["archive"]>): string =>
  `${trouble === undefined ? "archived" : "not archived"} ${formatDuration(lagSeconds * 1000)} ago`

/** `watching 3`, or with names `watching Deployment Pod`: one part for each state that occurs. */
const kindsBy = (status: RecorderStatus, isNamed: (state: KindState) => boolean): string[] =>
  stateOrder.flatMap((state) => {
    const kinds = status.kinds.filter((kind) => kind.state === state)
    if (kinds.length === 0) return []
    const what = isNamed(state) ? shortNames(kinds, status).join(" ") : formatInteger(kinds.length)
    return [`${state} ${what}`]
  })

/** The kind alone if it is unambiguous, otherwise with its group. */
const shortNames = (kinds: RecorderStatus["kinds"], status: RecorderStatus): string[] =>
  kinds.map(({ gvk }) => {
    const kind = kindOf(gvk)
    const isClear = status.kinds.filter((other) => kindOf(other.gvk) === kind).length === 1
    return visible(isClear ? kind : gvk)
  })

const kindOf = (gvk: string): string => gvk.slice(gvk.lastIndexOf(".") + 1)
