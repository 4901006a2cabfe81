/** Times and durations as texts, and as numbers. The library reads them, to the millisecond, and has their other methods. */

import type { Duration } from "@marcbachmann/cel-js/evaluator"
import { fail } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { library } from "./values.ts"

/** By the beginning of the unit's name, as Go writes it. */
const spelledUnits: ReadonlyArray<readonly [RegExp, string, bigint]> = [
  [/^(?:ns|nano)/, "ns", 1n],
  [/^(?:us|µs|micro)/, "us", 1n],
  [/^(?:ms|milli)/, "ms", 1n],
  [/^s/, "s", 1n],
  [/^h/, "h", 1n],
  [/^d/, "h", 24n],
  [/^w/, "h", 168n],
  [/^m/, "m", 1n],
]

const goForm = /^[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/

/** Go's durations, and amounts with spelled-out units (`2 days`), as the schema's format allows. Throws EvaluationError. */
export const durationOf = (text: string): Duration => {
  const amounts = goForm.test(text) ? text : spelledAmounts(text)
  if (amounts === "") return fail(`Invalid duration ${text}`)
  return library().evaluate("duration(text)", { text: amounts === "0" ? "0s" : amounts })
}

const spelledAmounts = (text: string): string =>
  [...text.matchAll(/(\d+)\s*([a-zµ]+)/gi)]
    .map(([, amount = "0", unit = ""]) => {
      const [, written = "s", times = 0n] = spelledUnits.find(([pattern]) => pattern.test(unit.toLowerCase())) ?? []
      return `${BigInt(amount) * times}${written}`
    })
    .join("")

/** RFC 3339 in UTC, with as many digits of a second as there are. */
export const timeText = (time: Date): string => time.toISOString().replace(/\.?0*Z$/, "Z")

/** In seconds, as CEL writes durations: `5400s`, `1.5s`. */
export const durationText = ({ seconds, nanos }: Duration): string => {
  const total = seconds * 1_000_000_000n + BigInt(nanos)
  const amount = total < 0n ? -total : total
  const fraction = String(amount % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "")
  return `${total < 0n ? "-" : ""}${amount / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`
}

const timestamp = "google.protobuf.Timestamp"
const duration = "google.protobuf.Duration"

export const times: Extension = {
  functions: [
    [`string(${timestamp}): string`, timeText],
    [`string(${duration}): string`, durationText],
    [`int(${timestamp}): int`, (time: Date) => BigInt(Math.floor(time.getTime() / 1000))],
    [`int(${duration}): int`, ({ seconds, nanos }: Duration) => seconds * 1_000_000_000n + BigInt(nanos)],
    [`timestamp(${timestamp}): ${timestamp}`, (time: Date) => time],
    [`duration(${duration}): ${duration}`, (length: Duration) => length],
  ],
}
