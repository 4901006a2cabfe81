/** When the moments of a program are. */
import { microsOf } from "../../rfc3339.ts"
import type { Moment } from "./program.ts"

/** µs since the Unix epoch. */
export type MomentOf = (moment: Moment) => number

const unitMicros = { h: 3_600_000_000, m: 60_000_000, s: 1_000_000, ms: 1000 } as const

/** A date has its offset: without one, it would be another moment for everyone who reads the program. */
const hasOffset = /(?:[Zz]|[+-]\d\d:\d\d)$/

/** The moment in a trace that begins at `start`; `undefined`: there is no such date, or no number of µs for it. */
const momentIn = ({ text, unit }: Moment, start: number): number | undefined => {
  if (unit === "date") return hasOffset.test(text) ? microsOf(text) : undefined
  const micros = Math.round(Number(text) * unitMicros[unit === "" ? "s" : unit])
  return Number.isSafeInteger(micros) ? (unit === "" ? micros : start + micros) : undefined
}

/** Whether it is a moment. */
export const isReadable = (moment: Moment): boolean => momentIn(moment, 0) !== undefined

/** Moments of a trace that begins at `start`, µs since the Unix epoch. @throws RangeError for one that is not readable */
export const momentsFrom =
  (start: number): MomentOf =>
  (moment) => {
    const micros = momentIn(moment, start)
    if (micros === undefined) throw new RangeError(`not a moment: ${moment.text}`)
    return micros
  }
