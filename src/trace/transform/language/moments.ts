/** When the moments of a program are. */
import type { Moment } from "./program.ts"

/** µs since the Unix epoch. */
export type MomentOf = (moment: Moment) => number

const unitMicros = { h: 3_600_000_000, m: 60_000_000, s: 1_000_000, ms: 1000 } as const

/** RFC 3339: a date and a time with its offset, which `Date.parse` would take as local if it were missing. */
const dateForm = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:\d\d)$/

/** Whether a date can be read. */
export const isReadable = ({ unit, text }: Moment): boolean =>
  unit !== "date" || (dateForm.test(text) && !Number.isNaN(Date.parse(text)))

/** Moments of a trace that begins at `start`, µs since the Unix epoch. Give it readable ones. */
export const momentsFrom =
  (start: number): MomentOf =>
  ({ text, unit }) => {
    if (unit === "date") return Date.parse(text) * 1000
    return unit === "" ? Math.round(Number(text) * unitMicros.s) : start + Math.round(Number(text) * unitMicros[unit])
  }
