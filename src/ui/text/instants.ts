/** Times in addresses and in answers of the server: RFC 3339 with µs, which `Date` does not keep. */

/** `2026-11-21T10:20:00.123456Z`; for times that are no time, the number. */
export const timeText = (micros: number): string => {
  const date = new Date(Math.floor(micros / 1000))
  if (Number.isNaN(date.getTime())) return String(micros)
  const rest = micros - Math.floor(micros / 1000) * 1000
  return date.toISOString().replace("Z", `${String(rest).padStart(3, "0")}Z`)
}

/** A time of {@link timeText}, or in any other form that browsers read; `undefined`: it is none. */
export const timeIn = (text: string | null): number | undefined => {
  if (text === null) return undefined
  if (/^\d{1,16}$/.test(text)) return Number(text)
  const parts = /^(.*\.\d{3})(\d{3})Z$/.exec(text)
  const milliseconds = Date.parse(parts === null ? text : `${parts[1]}Z`)
  return Number.isNaN(milliseconds) ? undefined : milliseconds * 1000 + Number(parts?.[2] ?? 0)
}
