/** The moments of a question about the past: read from the command line, and said back where there was a choice. */

import { ambiguityOf, describeInstant, parseInstant } from "../command-line/instant.ts"
import { Misasked } from "./asking.ts"

/** µs since the Unix epoch. */
interface Reference {
  /** What `now` means, and what durations count back from. */
  readonly moment: number
  /** Says which moment was taken. */
  readonly say: (line: string) => void
}

/** A moment. @throws Misasked */
export const readMoment = (option: string, given: string, { moment, say }: Reference): number => {
  const reading = parseInstant(given, { now: moment, before: moment })
  if (reading._tag === "Refused") throw new Misasked(`${option} ${JSON.stringify(given)}: ${reading.reason}`)
  const ambiguity = ambiguityOf(given, reading.value, moment)
  if (ambiguity !== undefined) say(`${option} ${given}: ${ambiguity}`)
  else if (/^\d\d?:\d\d/.test(given)) say(`${option} ${given}: taken is ${describeInstant(reading.value, moment)}`)
  return reading.value
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
  const from = readMoment(option, first, { ...reference, moment: isDuration(first) ? to : reference.moment })
  if (from > to) throw new Misasked(`${option} ${given}: it ends before it begins`)
  return { from, to }
}

const isDuration = (text: string): boolean => /^-?\d+(?:\.\d+)?[a-z]/.test(text)
