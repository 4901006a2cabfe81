/** Timestamps and durations as texts, exact to the nanosecond. */

import { isTime } from "../../schema/text-formats.ts"
import { Duration, Timestamp } from "../values.ts"

/** RFC 3339; `undefined` for anything else. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  if (!isTime(text)) return undefined
  const [, whole = "", fraction = "", zone = ""] = /^(.{10}T\d{1,2}:\d\d:\d\d)(?:[.,](\d+))?(.*)$/.exec(text) ?? []
  const seconds = Date.parse(`${whole.replace(/T(\d):/, "T0$1:")}${zone}`)
  if (Number.isNaN(seconds)) return undefined
  return new Timestamp(BigInt(seconds) * 1_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0")))
}

/** RFC 3339 in UTC, with as many digits of a second as there are. */
export const timestampText = ({ nanoseconds }: Timestamp): string => {
  const fraction = ((nanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  const whole = new Date(Number((nanoseconds - fraction) / 1_000_000n)).toISOString().slice(0, 19)
  const digits = fraction === 0n ? "" : `.${String(fraction).padStart(9, "0").replace(/0+$/, "")}`
  return `${whole}${digits}Z`
}

/** In nanoseconds. */
const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const goForm = /^([+-]?)(0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/

/** `1h30m`, `-1.5s`; `undefined` for anything else. */
export const parseGoDuration = (text: string): Duration | undefined => {
  const [, sign, amounts = ""] = goForm.exec(text) ?? []
  if (sign === undefined) return undefined
  let total = 0n
  for (const [, whole = "", fraction = "", unit = ""] of amounts.matchAll(/(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g)) {
    const size = units[unit] ?? 0n
    total += BigInt(whole === "" ? 0 : whole) * size
    if (fraction !== "") total += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length)
  }
  return new Duration(sign === "-" ? -total : total)
}

/** In seconds, as CEL writes durations: `5400s`, `1.5s`. */
export const durationText = ({ nanoseconds }: Duration): string => {
  const amount = nanoseconds < 0n ? -nanoseconds : nanoseconds
  const fraction = String(amount % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "")
  return `${nanoseconds < 0n ? "-" : ""}${amount / 1_000_000_000n}${fraction === "" ? "" : `.${fraction}`}s`
}
