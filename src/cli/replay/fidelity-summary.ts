/** The comparison of a replay with the recording of its cluster, for people. */

import {
  type Both,
  describeDifference,
  type ExtraObject,
  type FidelityReport,
  type FidelityUnknown,
  type PodFidelity,
  type Spread,
} from "../../simulation/index.ts"
import { formatCount, formatDuration, formatInteger } from "../terminal/quantities.ts"

/** Worst writes that are shown; the report has more. */
const mostWorst = 3
/** Objects that something else changed or made; the report has more. */
const mostExtra = 6

/** Lines of at most some 100 columns, except for reasons. `isStopped`: the replay was, so it did not wait for the cluster to settle. */
export const describeFidelity = (
  fidelity: FidelityReport | FidelityUnknown,
  isStopped: boolean,
): ReadonlyArray<string> => {
  if ("unknown" in fidelity) return [`fidelity   unknown: ${fidelity.unknown}`]
  const { score, tolerance, objects, states, onTime, gaps, observedMs, pods, recording, worst } = fidelity
  const inOrder = states.equal - states.outOfOrder
  const lines = [
    `fidelity   objects equal ${share(score.objectsEqual)} (${formatInteger(objects.equal)} of ${formatInteger(objects.total)}), ` +
      `states in order ${share(score.statesInOrder)} (${formatInteger(inOrder)} of ${formatInteger(states.total)})${isStopped ? ", until it was stopped" : ""}`,
  ]
  if (onTime !== null)
    lines.push(`on time    ${share(score.onTime)} within ${tolerance.ms} ms of due${describeOff(onTime)}`)
  if (gaps !== null)
    lines.push(
      `gaps kept  ${share(score.gapsWithin)} within ${tolerance.ms} ms or ${tolerance.share * 100} %${gaps.errorMs === null ? "" : `; off by ${spread(gaps.errorMs)}`}`,
    )
  if (observedMs !== null) lines.push(`observed   ${spread(observedMs)} after due`)
  if (pods !== null) lines.push(...describePods(pods))
  const wrong = words.flatMap(([each, word]) => (states[each] === 0 ? [] : [`${formatInteger(states[each])} ${word}`]))
  if (wrong.length > 0) lines.push(`states     ${wrong.join(", ")}`)
  const shown = worst.filter(({ result }) => result !== "equal").slice(0, mostWorst)
  for (const { result, reason, ...object } of shown) lines.push(`worst      ${result}: ${describe(object)}: ${reason}`)
  lines.push(...describeExtra(fidelity))
  for (const { gvk, reason } of recording.unmeasured) lines.push(`unmeasured ${gvk}: ${reason}`)
  for (const { gvk, reason } of recording.unlisted)
    lines.push(`unmeasured ${gvk}: objects that the trace does not have could not be looked for: ${reason}`)
  if (!recording.isSettled && !isStopped)
    lines.push(
      `settling   the cluster still changed after ${formatDuration(recording.settlingMs)}; --settle can wait longer`,
    )
  return lines
}

const describe = ({ gvk, namespace, name }: ExtraObject): string =>
  `${gvk} ${namespace === "" ? name : `${namespace}/${name}`}`

/** What something else in the cluster did to objects of the replay, and beside them. */
const describeExtra = ({ details, extraObjects, objects }: FidelityReport): ReadonlyArray<string> => {
  const changed = details.flatMap((object) =>
    object.extra.slice(0, 1).map(({ reason, differences }) => {
      const what = differences.length === 0 ? "" : `: ${differences.map(describeDifference).join("; ")}`
      return `extra      ${describe(object)}: ${reason}${what}`
    }),
  )
  const lines = [
    ...changed,
    ...extraObjects.map((object) => `extra      ${describe(object)}: the trace does not have it`),
  ]
  const more = changed.length + objects.extra - mostExtra
  return [...lines.slice(0, mostExtra), ...(more > 0 ? [`extra      ${more} more; --report FILE has them`] : [])]
}

const describeOff = ({ total, within, early, late }: NonNullable<FidelityReport["onTime"]>): string => {
  const unseen = total - within - early - late
  const parts = [
    [early, "early"],
    [late, "late"],
    [unseen, "not observed"],
  ] as const
  return parts.map(([count, what]) => (count === 0 ? "" : `, ${formatInteger(count)} ${what}`)).join("")
}

const words = [
  ["different", "different from what was applied"],
  ["early", "deleted before it was due"],
  ["missing", "never observed"],
  ["refused", "refused"],
  ["unwritten", "not written"],
  ["unmeasured", "not recorded"],
  ["outOfOrder", "out of order"],
  ["extra", "changed by something else"],
] as const

/** Never 100 % unless it is all. */
export const share = (part: number | null): string =>
  part === null ? "–" : `${part === 1 ? 100 : (Math.floor(part * 1000) / 10).toFixed(1)} %`

export const spread = ({ p50, p99, max }: Spread): string =>
  `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, at most ${max.toFixed(1)} ms`

const describePods = ({
  created,
  neverStarted,
  pendingMs,
  runningMs,
  ...shares
}: PodFidelity): ReadonlyArray<string> => {
  const inTrace = (count: number | null): string => (count === null ? "" : `, ${formatInteger(count)} in the trace`)
  const never = `; ${formatInteger(neverStarted.replayed)} never started to run${inTrace(neverStarted.recorded)}`
  const lines = [
    `pods       ${formatCount(created.replayed, "pod")} created${inTrace(created.recorded)}${neverStarted.replayed === 0 ? "" : never}`,
  ]
  const { asRecorded, missing, extra, unasked } = shares
  if (asRecorded !== null && asRecorded < 1) {
    const parts = [
      [missing, "missing"],
      [extra, "that the trace does not have"],
      [unasked, "of which the webhook was not told"],
    ] as const
    const wrong = parts.flatMap(([count, what]) =>
      count === null || count === 0 ? [] : [`${formatInteger(count)} ${what}`],
    )
    lines.push(`           as in the trace ${share(asRecorded)}: ${wrong.join(", ")}`)
  }
  for (const [label, both] of [
    ["pending", pendingMs],
    ["running", runningMs],
  ] as const)
    if (both.recorded !== null || both.replayed !== null) lines.push(`${label.padEnd(11)}${describeBoth(both)}`)
  return lines
}

/** Tenths of a second matter here. */
const duration = (ms: number): string =>
  ms >= 999.5 && ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : formatDuration(ms)

const describeBoth = ({ recorded, replayed }: Both<Spread | null>): string => {
  const at = (percentile: "p50" | "p99"): string =>
    [replayed, recorded].map((each) => (each === null ? "–" : duration(each[percentile]))).join(", in the trace ")
  return `p50 ${at("p50")}; p99 ${at("p99")}`
}
