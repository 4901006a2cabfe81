/** Moments as people, programs and logs write them (RFC 3339), in the unit of traces. */

const form = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(?:[Zz]|([+-])(\d\d):(\d\d))?$/

/**
 * µs since the Unix epoch of an RFC 3339 time; what is below a µs is cut off. Without a time zone it is UTC, as CloudWatch writes it; seconds
 * may be missing. `undefined`: not such a time, before 1970, or beyond 2^53 µs (the year 2255), which no trace can hold.
 */
export const microsOf = (text: unknown): number | undefined => {
  const found = typeof text === "string" ? form.exec(text) : null
  if (found === null) return undefined
  const [, year, month, day, hours, minutes, seconds = 0, fraction = "", sign, zoneHours, zoneMinutes] = found
  const [monthNumber, dayNumber] = [Number(month), Number(day)]
  const milliseconds = Date.UTC(
    Number(year),
    monthNumber - 1,
    dayNumber,
    Number(hours),
    Number(minutes),
    Number(seconds),
  )
  const isDate =
    monthNumber >= 1 &&
    monthNumber <= 12 &&
    new Date(Date.UTC(Number(year), monthNumber - 1, dayNumber)).getUTCDate() === dayNumber
  const isZone = Number(zoneHours ?? 0) <= 23 && Number(zoneMinutes ?? 0) <= 59
  if (!isDate || !isZone || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 60) return undefined
  const offset = (Number(zoneHours ?? 0) * 60 + Number(zoneMinutes ?? 0)) * (sign === "-" ? -1 : 1)
  const micros = (milliseconds - offset * 60_000) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6))
  return micros >= 0 && Number.isSafeInteger(micros) ? micros : undefined
}
