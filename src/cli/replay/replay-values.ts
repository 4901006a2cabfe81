/** Values of the command line that all replays have. */

import { allCustom } from "../../simulation/objects/seeded-status.ts"
import { type Speed, speedLimits } from "../../simulation/replay/replay-clock.ts"
import { kindWithoutVersion } from "../../trace/sanitising/built-in-kinds.ts"
import { type Reading, refused, value } from "../command-line/arguments.ts"
import { parseDuration, parseInstant } from "../command-line/instant.ts"
import { isExactKind, readKind } from "../command-line/kind-option.ts"
import type { ReplayedKind } from "./source/named-in-trace.ts"

export const parseSpeed = (given: string): Reading<Speed> => {
  if (given === "max") return value("max")
  const speed = /^\d{1,4}(?:\.\d{1,6})?$/.test(given) ? Number(given) : Number.NaN
  const { minimum, maximum } = speedLimits
  return speed >= minimum && speed <= maximum
    ? value(speed)
    : refused(`must be a number from ${minimum} to ${maximum}, or max`)
}

/** A moment of the trace; durations back from now, and times of today, would mean little in a trace. */
export const parseMoment = (given: string): Reading<number> =>
  parseDuration(given.replace(/^-/, "")) === undefined && given !== "now" && !isTimeOfDay(given)
    ? parseInstant(given, { now: 0, before: 0 })
    : refused("must be a time of the trace: RFC 3339 or seconds since 1970")

const isTimeOfDay = (given: string): boolean => /^(?:(?:today|yesterday)[ T])?\d\d?:\d\d(?::\d\d)?$/i.test(given)

/** µs. */
export const parseSettling = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined ? refused("must be a duration such as 5s; 0s does not wait") : value(duration)
}

/**
 * A kind without its version, as replays name kinds: `coordination.k8s.io/Lease`, `Node`; or by any name of a kind, such as `lease`, `no` or
 * `v1.Node`. What is no name of a built-in kind may be one of the trace's.
 */
export const parseReplayedKind = (given: string): Reading<ReplayedKind> => {
  if (given === "") return refused("must be a kind")
  if (given.includes("/") && !isExactKind(given)) return value({ tag: "kind", kind: given })
  const reading = readKind(given)
  return value(
    reading.tag === "kind" ? { tag: "kind", kind: kindWithoutVersion(reading.text) } : { tag: "name", name: given },
  )
}

/** The same, or `custom` for all custom kinds. */
export const parseSeededKind = (given: string): Reading<ReplayedKind> =>
  given === allCustom ? value({ tag: "kind", kind: given }) : parseReplayedKind(given)
