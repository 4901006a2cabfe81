/** Values of the command line that all replays have. */

import { allCustom, type Speed, speedLimits } from "../../simulation/index.ts"
import { kindWithoutVersion } from "../../trace/index.ts"
import { type Reading, refused, value } from "../command-line/arguments.ts"
import { parseDuration, parseInstant } from "../command-line/instant.ts"
import { isExactKind, readKind } from "../command-line/kind-option.ts"
import type { ReplayedKind } from "./trace-kinds.ts"

export const parseSpeed = (given: string): Reading<Speed> => {
  if (given === "max") return value("max")
  const speed = /^\d{1,4}(?:\.\d{1,6})?$/.test(given) ? Number(given) : Number.NaN
  const { minimum, maximum } = speedLimits
  return speed >= minimum && speed <= maximum
    ? value(speed)
    : refused(`must be a number from ${minimum} to ${maximum}, or max`)
}

/**
 * A moment of a trace, whose own beginning and end are known only once it is read. So a duration alone is refused, as it could count from either of
 * them or from now, and `own` is the one of both that is accepted: `start` as the first moment of a window is 0, `end` as its last is no bound.
 */
export const parseMoment =
  (own: "start" | "end") =>
  (given: string): Reading<number | undefined> => {
    if (given === own) return value(own === "start" ? 0 : undefined)
    if (parseDuration(given.replace(/^-/, "")) !== undefined || /^(?:start|end)/.test(given))
      return refused(`must be a time of the trace, such as 2026-11-21T10:00:00Z or 03:12:05 UTC, now-10m, or ${own}`)
    const now = Date.now() * 1000
    return parseInstant(given, { now, before: now })
  }

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
