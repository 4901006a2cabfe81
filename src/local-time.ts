/**
 * Times for people: in the time zone of this machine, with its name. Everything that programs read is in UTC.
 */

/** Name of the time zone at a moment: `CET`, `CEST`, `EST`, `UTC`; where it has no short English name, `UTC+05:30`. */
export const zoneName = (milliseconds: number): string => {
  const date = new Date(milliseconds)
  // Each locale has the abbreviations of its own region only, and writes the others as offsets from GMT.
  for (const locale of ["en-GB", "en-US", "en-AU"]) {
    const parts = new Intl.DateTimeFormat(locale, { timeZoneName: "short" }).formatToParts(date)
    const name = parts.find(({ type }) => type === "timeZoneName")?.value ?? ""
    if (/^[A-Z]{2,5}$/.test(name)) return name
  }
  const minutes = -date.getTimezoneOffset()
  return `UTC${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`
}

/** `03:12:00 CET`, with the date before it if that is not the day of `nowMs`. Parts of a second are cut off. */
export const formatLocalTime = (milliseconds: number, nowMs: number): string => {
  const date = new Date(milliseconds)
  const day = dayOf(date)
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ${zoneName(milliseconds)}`
  return day === dayOf(new Date(nowMs)) ? time : `${day} ${time}`
}

/** A message of another program with its moments, which are in UTC there, as times of this machine. */
export const withLocalTimes = (message: string, nowMs: number): string =>
  message.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (instant) =>
    formatLocalTime(Date.parse(instant), nowMs),
  )

const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

const two = (number: number): string => String(number).padStart(2, "0")
