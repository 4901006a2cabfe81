/** The moments of a question about the past: read from the command line, and said where they depend on the day or on this machine's time zone. */

import { Misasked } from "../command-line/exit-codes.ts"
import { meaningOf, parseDuration, parseInstant } from "../command-line/instant.ts"

/** µs since the Unix epoch. */
interface Reference {
  /** What `now` and `end` mean, and what durations count back from. */
  readonly moment: number
  /** Says which moment is meant. */
  readonly say: (line: string) => void
}

/** A moment. `before`: what durations count back from, if that is not `now`. @throws Misasked */
export const readMoment = (
  option: string,
  given: string,
  { moment, say }: Reference,
  before: number = moment,
): number => {
  const reading = parseInstant(given, { now: moment, before })
  if (reading._tag === "Refused") throw new Misasked(`${option} ${JSON.stringify(given)}: ${reading.reason}`)
  const meaning = meaningOf(given, reading.value)
  if (meaning !== undefined) say(`${option} ${given} ${meaning}`)
  return reading.value
}

/** `--start` and `--end`: durations of the former count back from the latter. @throws Misasked */
export const readWindow = (
  given: { readonly start: string; readonly end: string },
  reference: Reference,
): { readonly start: number; readonly end: number } => {
  const end = readMoment("--end", given.end, reference)
  const start = readMoment("--start", given.start, reference, end)
  if (start > end) throw new Misasked("the window ends before its start")
  return { start, end }
}

/** `A..B`, or A up to now. @throws Misasked */
export const readStretch = (
  option: string,
  given: string,
  reference: Reference,
): { readonly from: number; readonly to: number } => {
  const [first = "", last = "now", ...more] = given.split("..")
  if (more.length > 0 || first === "" || last === "")
    throw new Misasked(
      `${option} ${JSON.stringify(given)}: write two moments with two dots between them, such as 03:00..03:12`,
    )
  const to = readMoment(option, last, reference)
  const isDuration = parseDuration(first.replace(/^-/, "")) !== undefined
  const from = readMoment(option, first, reference, isDuration ? to : reference.moment)
  if (from > to) throw new Misasked(`${option} ${given}: it ends before it begins`)
  return { from, to }
}
