/** Text for a page of HTML. Everything that a trace says goes through {@link escaped}: a name or a message may contain anything. */

/** Characters of one text in the page. */
const LONGEST_TEXT = 200

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

/** The text as content or as the value of an attribute: cut, well-formed, and without control characters, which no page may have. */
export const escaped = (text: string): string =>
  (text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text)
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: those are replaced.
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd")
    .replaceAll(/[&<>"']/g, (character) => entities[character] ?? "")

/** When something happened, from the start of the trace on: `+1.250 s`, `+01:02:03`. Times are µs. */
export const offsetText = (micros: number): string => {
  const seconds = Math.max(0, micros) / 1_000_000
  if (seconds < 600) return `+${seconds.toFixed(3)} s`
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60]
  return `+${[hours, minutes, rest].map((part) => String(part).padStart(2, "0")).join(":")}`
}

/** `2025-11-21T00:00:00.000Z`; the nearest that a calendar has for times that no trace has. */
export const timeText = (micros: number): string =>
  new Date(Math.min(LATEST_MS, Math.max(0, micros / 1000))).toISOString()

/** The end of year 9999. */
const LATEST_MS = 253_402_300_799_999

/** `1 object`, `2,000 objects`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`
