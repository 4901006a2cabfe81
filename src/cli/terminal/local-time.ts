/** Times for people: those of this machine's time zone, which is named. For programs, and for what may be typed in again, see instant.ts. */

/** µs since the Unix epoch as `2026-11-21 11:00:00 +01:00`. */
export const formatLocalTime = (microseconds: number): string => {
  const time = new Date(Math.floor(microseconds / 1000))
  const date = [String(time.getFullYear()).padStart(4, "0"), two(time.getMonth() + 1), two(time.getDate())].join("-")
  const clock = [time.getHours(), time.getMinutes(), time.getSeconds()].map(two).join(":")
  const east = -time.getTimezoneOffset()
  const zone = `${east < 0 ? "-" : "+"}${two(Math.floor(Math.abs(east) / 60))}:${two(Math.abs(east) % 60)}`
  return `${date} ${clock} ${zone}`
}

const two = (value: number): string => String(value).padStart(2, "0")
