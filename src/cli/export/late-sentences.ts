/** Changes that were received later than they happened, in sentences for people: from a recorder's header or forecast, or from a recording itself. */
import * as Schema from "effect/Schema"
import { formatLocalTime } from "../../local-time.ts"
import type { Across, LateFacts } from "../../recorder/index.ts"
import { formatCount } from "../terminal/quantities.ts"

/** Changes that were received later than they happened, as a recorder describes them. */
export const Late = Schema.Struct({
  start: Schema.Number,
  end: Schema.Number,
  receivedStart: Schema.Number,
  receivedEnd: Schema.Number,
  namespace: Schema.String,
  events: Schema.Number,
  cause: Schema.Literals(["stopped", "disconnected", "delayed"]),
  across: Schema.optionalKey(Schema.Literals(["start", "end", "start+end"])),
})

/** One line about changes of a kind that were received late. */
export const describeLate = (
  gvk: string,
  { start, end, receivedStart, receivedEnd, across, ...facts }: typeof Late.Type,
  nowMs: number,
): string => {
  const times = { happened: [start, end], received: [receivedStart, receivedEnd] } as const
  return `late ${describeLateFacts({ gvk, ...facts, ...times, across }, nowMs)}`
}

/**
 * One sentence for each part of the header `Kubereel-Late`, with times of this machine. What a newer recorder writes in another form is
 * shown as it is.
 */
export const describeLateHeader = (header: string, nowMs: number): ReadonlyArray<string> =>
  header.split(", ").map((part) => {
    const facts = readPart(part)
    if (facts !== undefined) return describeLateFacts(facts, nowMs)
    return /^\d+ more$/.test(part) ? `${part} ranges of changes were received late` : `received late: ${part}`
  })

/** `v1.Pod: 37 changes between 18:10:00 CET and 18:10:24 CET were received at 18:10:24 CET, because …; their times are estimates`. */
export const describeLateFacts = (facts: LateFacts, nowMs: number): string => {
  const { gvk, namespace, events, happened, received, cause, across } = facts
  const isOne = events === 1
  const place = namespace === "" ? gvk : `${gvk} in namespace ${namespace}`
  const [from, to] = happened.map((micros) => formatLocalTime(micros / 1000, nowMs))
  const estimates = isOne ? "its time is an estimate" : "their times are estimates"
  const edge = across === undefined ? "" : ` and may lie ${beyond[across]} the window`
  return `${place}: ${formatCount(events, "change")} between ${from} and ${to} ${isOne ? "was" : "were"} received ${during(received, nowMs)}, because ${reasons[cause]}; ${estimates}${edge}`
}

const beyond: Readonly<Record<Across, string>> = {
  start: "before",
  end: "after",
  "start+end": "before or after",
}

const reasons: Readonly<Record<LateFacts["cause"], string>> = {
  stopped: "the recorder was not running",
  disconnected: "the recorder had no connection to the API server",
  delayed: "the API server's stream was silent or behind",
}

const during = ([from, to]: readonly [number, number], nowMs: number): string => {
  const [first, last] = [formatLocalTime(from / 1000, nowMs), formatLocalTime(to / 1000, nowMs)]
  return first === last ? `at ${first}` : `between ${first} and ${last}`
}

const interval = /^([^/]+)\/([^/]+)$/

/** `undefined` if it is not of the form that a recorder writes. */
const readPart = (part: string): LateFacts | undefined => {
  const [what = "", ...rest] = part.split("; ")
  const named = /^(\S+?)(?: in (\S+))?=(\d+)$/.exec(what)
  const given = new Map(rest.map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]))
  const happened = readInterval(given.get("happened"))
  const received = readInterval(given.get("received"))
  const cause = keyOf(reasons, given.get("cause"))
  if (named === null || happened === undefined || received === undefined || cause === undefined) return undefined
  const [, gvk = "", namespace = "", events] = named
  const across = keyOf(beyond, given.get("across"))
  return { gvk, namespace, events: Number(events), happened, received, cause, across }
}

const keyOf = <Key extends string>(table: Readonly<Record<Key, string>>, text: string | undefined): Key | undefined =>
  text !== undefined && Object.hasOwn(table, text) ? (text as Key) : undefined

/** µs since the Unix epoch; parts of a ms are of no interest to people. */
const readInterval = (text: string | undefined): readonly [number, number] | undefined => {
  const [, from = "", to = ""] = interval.exec(text ?? "") ?? []
  const times = [Date.parse(from) * 1000, Date.parse(to) * 1000] as const
  return times.some(Number.isNaN) ? undefined : times
}
