/**
 * What an export says of its window: the part that is in the future, and which kinds are incomplete in it.
 *
 * The future has a header of its own and is no fault: many requests name an end far in the future to get everything up to now, as SimKube
 * permits. Only `require=all` rejects a window that has not ended, and every export one that has not begun.
 */
import {
  clockTolerance,
  type IncompleteKind,
  instantOf,
  type RequestedKinds,
  type RequestedWindow,
} from "../../actors/index.ts"
import type { KindStatus, KindStatuses } from "../status/kind-status.ts"
import type { Reach } from "./recording.ts"
import { headerList } from "./response-sink.ts"

/** `statuses`: as far as they are requested. */
export const requestedKinds = (
  statuses: ReadonlyArray<KindStatus>,
  all: Pick<KindStatuses, "hasAppeared">,
  { knownUntil }: Pick<Reach, "knownUntil">,
  present: Pick<RequestedKinds, "nowMicros" | "fromBeginning">,
): RequestedKinds => ({
  ...present,
  ...(knownUntil !== undefined && { knownUntil }),
  parts: statuses.flatMap(({ gvk, state, detail, namespaces }) =>
    (namespaces.length === 0 ? [{ namespace: "", state, detail }] : namespaces).map((part) => ({
      ...{ gvk, namespace: part.namespace, state: part.state, detail: part.detail },
      hasAppeared: all.hasAppeared(gvk),
    })),
  ),
})

/** Why a window that has not begun is rejected; `undefined` if it has, or is empty. */
export const notBegun = ({ fromTime, untilTime }: RequestedWindow, nowMicros: number): string | undefined =>
  fromTime < untilTime && fromTime > nowMicros + clockTolerance
    ? `the window starts at ${instantOf(Math.floor(fromTime / 1000))}, which is in the future; it is now ${instantOf(Math.floor(nowMicros / 1000))}`
    : undefined

/** The part of a window that is in the future, `START/END` for a header; `undefined` if it has ended. */
export const futureOf = (window: RequestedWindow, nowMicros: number): string | undefined =>
  aheadOfNow(window, nowMicros) === undefined
    ? undefined
    : [nowMicros, window.untilTime].map((micros) => instantOf(Math.floor(micros / 1000))).join("/")

/** The reason to reject `require=all` for a window that has not ended; `undefined` if it has. */
export const aheadOfNow = ({ fromTime, untilTime }: RequestedWindow, nowMicros: number): string | undefined =>
  untilTime > Math.max(fromTime, nowMicros + clockTolerance)
    ? `the window ends at ${instantOf(Math.floor(untilTime / 1000))}, which is in the future; it is now ${instantOf(Math.floor(nowMicros / 1000))}`
    : undefined

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
export const describeIncomplete = (kinds: ReadonlyArray<IncompleteKind>): string | undefined =>
  headerList(kinds.map(describePart), longestHeader, (shown) => {
    const left = kinds.slice(shown)
    const isYoung = left.every(({ state }) => state === "unrecorded" || state.startsWith("recorded-"))
    return `${left.length} more=${isYoung ? "recorded-in-part" : "incomplete"}`
  })
