/** Values of the command line that all replays have. */
import { type Speed, speedLimits } from "../../simulation/replay/replay-clock.ts"
import { type Reading, refused, value } from "../command-line/arguments.ts"
import { parseDuration, parseInstant } from "../command-line/instant.ts"

export const parseSpeed = (given: string): Reading<Speed> => {
  if (given === "max") return value("max")
  const speed = /^\d{1,4}(?:\.\d{1,6})?$/.test(given) ? Number(given) : Number.NaN
  const { minimum, maximum } = speedLimits
  return speed >= minimum && speed <= maximum
    ? value(speed)
    : refused(`must be a number from ${minimum} to ${maximum}, or max`)
}

/** A moment of the trace; durations back from now would mean little in a trace. */
export const parseMoment = (given: string): Reading<number> =>
  parseDuration(given.replace(/^-/, "")) === undefined && given !== "now"
    ? parseInstant(given, { now: 0, before: 0 })
    : refused("must be a time of the trace: RFC 3339 or seconds since 1970")

/** µs. */
export const parseSettling = (given: string): Reading<number> => {
  const duration = parseDuration(given)
  return duration === undefined ? refused("must be a duration such as 5s; 0s does not wait") : value(duration)
}
