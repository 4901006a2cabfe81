/**
 * What Go's parsers say about texts that they refuse: times, quantities, base64. Each function answers the error's text,
 * or `undefined` for a text that parses.
 */

import { goQuote } from "./go-quote.ts"

interface Element {
  readonly layout: string
  readonly pattern: RegExp
  /** The value's name and range, for numbers. */
  readonly range?: readonly [name: string, least: number, most: number]
}

const two = /^\d\d/
const literal = (text: string): Element => ({
  layout: text,
  pattern: new RegExp(`^${text}`),
})
const zone: Element = { layout: "Z07:00", pattern: /^(?:Z|[+-]\d\d:\d\d)/ }

/** Hours may have one digit: Go's parser is lenient there. */
const untilSeconds: ReadonlyArray<Element> = [
  { layout: "2006", pattern: /^\d{4}/ },
  literal("-"),
  { layout: "01", pattern: two, range: ["month", 1, 12] },
  literal("-"),
  { layout: "02", pattern: two, range: ["day", 1, 31] },
  literal("T"),
  { layout: "15", pattern: /^\d{1,2}/, range: ["hour", 0, 23] },
  literal(":"),
  { layout: "04", pattern: two, range: ["minute", 0, 59] },
  literal(":"),
  { layout: "05", pattern: two, range: ["second", 0, 59] },
]
const seconds = [...untilSeconds, { layout: "", pattern: /^(?:[.,]\d+)?/ }, zone]
const microseconds = [...untilSeconds, { layout: ".000000", pattern: /^[.,]\d{6}/ }, zone]

/** `metav1.Time`: RFC 3339, any fraction of a second. */
export const timeProblem = (text: string): string | undefined => goTimeProblem(text, seconds)

/** `metav1.MicroTime`: exactly six digits after the second. */
export const microTimeProblem = (text: string): string | undefined => goTimeProblem(text, microseconds)

/** Most times are written by servers, in UTC: no need to take them apart. The last days of a month go the long way. */
const plainTime = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{6})?Z$/

const goTimeProblem = (text: string, elements: ReadonlyArray<Element>): string | undefined => {
  if (plainTime.test(text) && (elements === seconds || text.includes("."))) return undefined
  const layout = elements.map((element) => element.layout).join("")
  const values: number[] = []
  let rest = text
  for (const element of elements) {
    const found = element.pattern.exec(rest)?.[0]
    if (found === undefined)
      return `parsing time ${goQuote(text)} as "${layout}": cannot parse ${goQuote(rest)} as "${element.layout}"`
    const [name, least, most] = element.range ?? ["", 0, 0]
    if (name !== "" && (Number(found) < least || Number(found) > most))
      return `parsing time ${goQuote(text)}: ${name} out of range`
    const zoneProblem = element === zone ? offsetProblem(found) : undefined
    if (zoneProblem !== undefined) return `parsing time ${goQuote(text)}: ${zoneProblem}`
    if (/\d/.test(element.layout)) values.push(Number(found))
    rest = rest.slice(found.length)
  }
  if (rest !== "") return `parsing time ${goQuote(text)}: extra text: ${goQuote(rest)}`
  const [year = 0, month = 1, day = 1] = values
  const days = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  return day > days ? `parsing time ${goQuote(text)}: day out of range` : undefined
}

const offsetProblem = (offset: string): string | undefined => {
  if (offset === "Z") return undefined
  if (Number(offset.slice(1, 3)) > 24) return "time zone offset hour out of range"
  return Number(offset.slice(4)) > 60 ? "time zone offset minute out of range" : undefined
}

const quantityForm = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const quantitySuffix = /^(?:|[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)$/

/** `resource.Quantity`, given as a string or as a number. */
export const quantityProblem = (value: unknown): string | undefined => {
  const text = typeof value === "number" ? String(value) : typeof value === "string" ? value : "?"
  if (text === "") return quantityForm
  // The sign and the digits may be missing altogether; what follows them must be a suffix.
  const rest = text.trim().replace(/^[+-]?\d*(?:\.\d*)?/, "")
  if (!/^[eEinumkKMGTP]*[-+]?\d*$/.test(rest)) return quantityForm
  return quantitySuffix.test(rest) ? undefined : "unable to parse quantity's suffix"
}

/** Standard base64 with padding; line ends are skipped. */
export const base64Problem = (text: string): string | undefined => {
  const offset = base64Error(text)
  return offset === undefined ? undefined : `illegal base64 data at input byte ${offset}`
}

const base64Error = (text: string): number | undefined => {
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) return undefined
  let digits = 0
  let at = 0
  const skipLineEnds = (): void => {
    while (text[at] === "\n" || text[at] === "\r") at++
  }
  for (skipLineEnds(); at < text.length; skipLineEnds()) {
    const character = text[at] ?? ""
    if (character === "=") {
      if (digits % 4 < 2) return at
      if (digits % 4 === 2) {
        at++
        skipLineEnds()
        if (at === text.length) return at
        // One before the character that is no padding: what Go counts, whatever stands there.
        if (text[at] !== "=") return at - 1
      }
      at++
      skipLineEnds()
      return at < text.length ? at : undefined
    }
    if (!/[A-Za-z0-9+/]/.test(character)) return at
    digits++
    at++
  }
  return digits % 4 === 0 ? undefined : at - (digits % 4)
}
