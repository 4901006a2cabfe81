/**
 * `spec.duration`: how much of a trace is replayed. SimKube reads it as GNU date reads relative items (`+5m`, `1 hour and 30 minutes`). The rule of the
 * API server and {@link traceDurationMs} share their patterns, so everything that is accepted can be read.
 *
 * Months and years are refused, because their length depends on the date; so are fractions, which GNU date does not know.
 */
import type { Rule } from "./fields.ts"

/** ms of the units by their first letter; as in GNU date, `m` is a minute. */
const msPer: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

const item = "[+]? *[0-9]{1,9} *(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)"
const whole = `^${item}(( *,? *| +and +)${item})*$`
/** A duration of zero replays nothing. */
const nonZero = "[1-9]"

/** What the API server evaluates. */
export const traceDurationRule: Rule = {
  rule: `self.matches(r'${whole}') && self.matches('${nonZero}')`,
  message: "must be a duration from the start of the trace, such as +5m, 90s, 1h30m or 2 days",
}

/** Characters of the longest duration. */
export const longestTraceDuration = 64

/** In ms; `undefined` for a text that the rule refuses. */
export const traceDurationMs = (duration: string): number | undefined => {
  if (!new RegExp(whole).test(duration) || !new RegExp(nonZero).test(duration)) return undefined
  const items = duration.matchAll(/(\d+) *([a-z])/g)
  return [...items].reduce((sum, [, count, letter = ""]) => sum + Number(count) * (msPer[letter] ?? Number.NaN), 0)
}
