/**
 * Times as they are printed: for people in the time zone of this machine, with its name; for programs in UTC (RFC 3339).
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

/**
 * `03:12:00 CET`, or `03:12:00.482731 CET` if it is not on a second; with the date before it unless the moment is of the day of `nowMs` and not after it.
 * Every option that takes a time reads it as the same µs.
 */
export const formatLocalTime = (milliseconds: number, nowMs: number): string => {
  const date = new Date(milliseconds)
  const day = dayOf(date)
  const clock = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  const micros = Math.round(milliseconds * 1000) % 1_000_000
  const digits = micros % 1000 === 0 ? String(micros / 1000).padStart(3, "0") : String(micros).padStart(6, "0")
  const time = `${clock}${micros === 0 ? "" : `.${digits}`} ${zoneName(milliseconds)}`
  // The clock of another machine may be a little ahead.
  return day === dayOf(new Date(nowMs)) && milliseconds <= nowMs + 1000 ? time : `${day} ${time}`
}

/** RFC 3339 in UTC, with a fraction only if there is one: `2026-11-21T10:00:00.000001Z`. */
export const formatInstant = (microseconds: number): string => {
  const whole = new Date(Math.floor(microseconds / 1_000_000) * 1000).toISOString().slice(0, 19)
  const fraction = microseconds % 1_000_000
  return `${whole}${fraction === 0 ? "" : `.${String(fraction).padStart(6, "0").replace(/0+$/, "")}`}Z`
}

/** Both ends of a window, in RFC 3339. One that starts at 0 starts with the recording. µs since the Unix epoch. */
export const formatWindow = (start: number, end: number): string =>
  `${start <= 0 ? "the beginning" : formatInstant(start)} to ${formatInstant(end)}`

/** A message of another program with its moments, which are in UTC there, as times of this machine. */
export const withLocalTimes = (message: string, nowMs: number): string =>
  message.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (instant) => {
    const [second = "", fraction = "0Z"] = instant.split(".")
    const milliseconds = Date.parse(second.endsWith("Z") ? second : `${second}Z`)
    return formatLocalTime(milliseconds + Number(`0.${fraction.slice(0, -1)}`) * 1000, nowMs)
  })

const dayOf = (date: Date): string => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

const two = (number: number): string => String(number).padStart(2, "0")
