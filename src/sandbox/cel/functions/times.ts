/** The parts of timestamps, in UTC or in a named time zone, and the lengths of durations. */

import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import type { Duration, Timestamp } from "../values.ts"

/** The same moment, with the parts that a clock of the zone shows as its UTC parts. */
const shown = ({ nanoseconds }: Timestamp, zone = "UTC"): Date => {
  const moment = Number((nanoseconds - (((nanoseconds % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n)
  if (zone === "UTC" || zone === "") return new Date(moment)
  const offset = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (offset !== null) {
    const minutes = Number(offset[2]) * 60 + Number(offset[3])
    return new Date(moment + (offset[1] === "-" ? -minutes : minutes) * 60_000)
  }
  return new Date(moment + offsetOf(zone, moment))
}

/** ms; of names in the time zone database. */
const offsetOf = (zone: string, moment: number): number => {
  try {
    const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" })
    const name = format.formatToParts(moment).find(({ type }) => type === "timeZoneName")?.value ?? "GMT"
    const [, sign, hours = "0", minutes = "0"] = /GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
  } catch {
    return fail(`unknown time zone ${zone}`)
  }
}

const dayMs = 86_400_000

const parts: Readonly<Record<string, (date: Date) => number>> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDate: (date) => date.getUTCDate(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
  getMilliseconds: (date) => date.getUTCMilliseconds(),
}

/** In nanoseconds. */
const lengths: Readonly<Record<string, bigint>> = {
  getHours: 3_600_000_000_000n,
  getMinutes: 60_000_000_000n,
  getSeconds: 1_000_000_000n,
  getMilliseconds: 1_000_000n,
}

export const times: ReadonlyArray<Overload> = [
  ...Object.entries(parts).flatMap(([name, part]) => [
    overload<[Timestamp]>(`timestamp::${name}() -> int`, ([time]) => BigInt(part(shown(time)))),
    overload<[Timestamp, string]>(`timestamp::${name}(string) -> int`, ([time, zone]) =>
      BigInt(part(shown(time, zone))),
    ),
  ]),
  ...Object.entries(lengths).map(([name, unit]) =>
    overload<[Duration]>(`duration::${name}() -> int`, ([{ nanoseconds }]) => nanoseconds / unit),
  ),
]
