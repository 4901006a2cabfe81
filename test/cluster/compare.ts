/**
 * Compares an export (NDJSON) with the ledger of an independent observer: every version whose kept part changed must
 * be in the export exactly once, in order, with the object as it is in the ledger, and nothing else. For a recorder that redacts values,
 * the ledger has to be redacted too (redacted-ledger.ts).
 *
 * The recorder listed its kinds before the observer did. So the events up to the version of the observer's list are
 * unknown to the ledger: they must lead, for every object, to the kept part in the list, and to nothing else; how they
 * get there is not checked. From there on everything is.
 *
 * A gap, a `vanished` event or a kind without a rule is a difference: this comparison is for runs in which the server kept
 * its whole history.
 */

import { at, equal, isObject, type Json, type JsonObject, parseExactly, textAt } from "./exact-json.ts"
import { keptPart, type Rule } from "./kept-part.ts"
import type { LedgerLine, ObjectLine } from "./ledger.ts"

export type { Rule } from "./kept-part.ts"

/** One way in which an export disagrees with the ledger. */
export interface Difference {
  readonly problem:
    | "malformed" // not an export at all, or not a whole one
    | "missing" // a change that the export does not hold
    | "duplicate" // a change that it holds more than once
    | "extra" // an event that is not a change according to the ledger
    | "out of order" // events of the ledger in another order
    | "other object" // the right event with another object than the server sent
    | "wrong start" // another state than the list's at the start of the ledger
    | "gap" // the export itself reports that something is missing
  readonly detail: string
}

/** An object line of an export. */
interface ExportedEvent {
  readonly position: number
  readonly sequence: number
  readonly time: number
  readonly action: string
  readonly gvk: string
  readonly uid: string
  readonly resourceVersion: string
  readonly namespace: string
  readonly name: string
  /** A line of the state at the start. */
  readonly isSnapshot: boolean
  readonly object: Json
}

/**
 * @param exported text of an NDJSON export, one JSON object per line: a header with `format`; events and gaps; a footer
 *   `{"end":{"snapshot","events","gaps"}}` with the number of lines of each sort.
 * @param ledger the observer's file for the same time, complete up to the end of the export.
 * @param rules `detect` and its settings for every recorded kind, by GVK.
 * @returns nothing when they agree; otherwise the differences, at most one for each event and kind of problem.
 * @throws Error when the ledger itself is not sound.
 */
export const compare = (
  exported: string,
  ledger: readonly LedgerLine[],
  rules: ReadonlyMap<string, Rule>,
): Difference[] => {
  const differences: Difference[] = []
  const report: Report = (problem, detail) => differences.push({ problem, detail })
  const events = readExport(exported, report)
  compareOrderOfLines(events, report)
  for (const event of events)
    if (!rules.has(event.gvk)) report("extra", `${nameOf(event)}: nobody asked for ${event.gvk}`)
  for (const [gvk, rule] of rules) {
    const ofKind = events.filter((event) => event.gvk === gvk)
    compareKind(gvk, rule, ofKind, ledger, report)
  }
  return differences
}

type Report = (problem: Difference["problem"], detail: string) => void

const readExport = (text: string, report: Report): ExportedEvent[] => {
  const lines = text.split("\n")
  if (lines.pop() !== "") report("malformed", "the last line does not end")
  const values = lines.map((line, index) => parseOrReport(line, index, report))
  const header = values.shift()
  const footer = values.pop()
  if (textAt(header, "format") === "") report("malformed", "the first line is no header")
  const incomplete = at(header, "incomplete")
  if (Array.isArray(incomplete) && incomplete.length > 0) report("gap", `incomplete: ${JSON.stringify(incomplete)}`)

  const isGap = (value: Json): boolean => textAt(value, "action") === "gap"
  const gaps = values.filter(isGap)
  for (const gap of gaps) report("gap", JSON.stringify(gap))
  const snapshot = values.filter((value) => at(value, "snapshot") === true).length
  const counts = { snapshot, events: values.length - gaps.length - snapshot, gaps: gaps.length }
  if (!equal(at(footer, "end"), counts))
    report("malformed", `the last line says ${JSON.stringify(footer)} and there are ${JSON.stringify(counts)}`)
  return values.flatMap((value, index) => (isGap(value) ? [] : [readEvent(value, index + 2, report)]))
}

const parseOrReport = (line: string, index: number, report: Report): Json => {
  try {
    return parseExactly(line)
  } catch (cause) {
    report("malformed", `line ${index + 1}: ${String(cause)}`)
    return null
  }
}

const readEvent = (value: Json, position: number, report: Report): ExportedEvent => {
  const number = (name: string): number => {
    const found = at(value, name)
    if (typeof found === "number") return found
    report("malformed", `line ${position}: ${name} is not an integer`)
    return Number.NaN
  }
  return {
    position,
    sequence: number("sequence"),
    time: number("time"),
    action: textAt(value, "action"),
    gvk: textAt(value, "gvk"),
    uid: textAt(value, "uid"),
    resourceVersion: textAt(value, "resourceVersion"),
    namespace: textAt(value, "namespace"),
    name: textAt(value, "name"),
    isSnapshot: at(value, "snapshot") === true,
    object: at(value, "object") ?? null,
  }
}

/**
 * Lines are sorted by (time, sequence), but for those of the state at the start, which come in an order that a cluster accepts; no sequence occurs twice, the events of
 * one object are sorted by sequence.
 */
const compareOrderOfLines = (events: readonly ExportedEvent[], report: Report): void => {
  const sequences = new Set<number>()
  const lastOfObject = new Map<string, number>()
  events.forEach((event, index) => {
    const before = events[index - 1]
    const isLater =
      before === undefined ||
      (event.isSnapshot
        ? before.isSnapshot
        : before.isSnapshot ||
          event.time > before.time ||
          (event.time === before.time && event.sequence > before.sequence))
    if (!isLater) report("out of order", `line ${event.position}: ${nameOf(event)} is older than the line before`)
    if (sequences.has(event.sequence)) report("duplicate", `line ${event.position}: sequence ${event.sequence} again`)
    sequences.add(event.sequence)
    const object = `${event.gvk} ${event.uid}`
    if (event.sequence < (lastOfObject.get(object) ?? event.sequence))
      report(
        "out of order",
        `line ${event.position}: ${nameOf(event)} has a lower sequence than an earlier event of it`,
      )
    lastOfObject.set(object, event.sequence)
  })
}

const compareKind = (
  gvk: string,
  rule: Rule,
  events: readonly ExportedEvent[],
  ledger: readonly LedgerLine[],
  report: Report,
): void => {
  const start = ledger.find((line) => line.line === "list" && line.gvk === gvk)
  if (start === undefined) throw new Error(`the ledger has no list of ${gvk}`)
  const lines = ledger.filter((line): line is ObjectLine => line.line !== "list" && line.gvk === gvk)
  const listed = lines.filter(({ line }) => line === "listed")
  const changes = lines.filter(({ line }) => line !== "listed")
  for (const event of events) compareNames(event, report)

  const isPast = (event: ExportedEvent): boolean =>
    /^\d+$/.test(event.resourceVersion) && BigInt(event.resourceVersion) <= BigInt(start.resourceVersion)
  compareStart(gvk, rule, events.filter(isPast), listed, report)
  const present = events.filter((event) => !isPast(event))
  compareChanges(rule, present, expectedChanges(gvk, rule, listed, changes), report)
}

const compareNames = (event: ExportedEvent, report: Report): void => {
  if (event.action === "vanished") return
  const { object } = event
  const pairs = [
    [event.uid, textAt(object, "metadata", "uid")],
    [event.namespace, textAt(object, "metadata", "namespace")],
    [event.name, textAt(object, "metadata", "name")],
    [event.resourceVersion, textAt(object, "metadata", "resourceVersion")],
  ]
  if (pairs.some(([ofEvent, ofObject]) => ofEvent !== ofObject))
    report("other object", `line ${event.position}: ${nameOf(event)} is not what its object says`)
}

/** Events recorded before the observer's list must lead to the state in the list. */
const compareStart = (
  gvk: string,
  rule: Rule,
  past: readonly ExportedEvent[],
  listed: readonly ObjectLine[],
  report: Report,
): void => {
  const keptOf = (object: JsonObject): Json => keptPart(gvk, object, rule)
  const seen = new Set<string>()
  const state = new Map<string, ExportedEvent>()
  for (const event of past) {
    if (seen.has(keyOf(event))) report("duplicate", `line ${event.position}: ${nameOf(event)}`)
    seen.add(keyOf(event))
    if (event.action === "applied") state.set(event.uid, event)
    else state.delete(event.uid)
  }
  for (const line of listed) {
    const event = state.get(line.uid)
    state.delete(line.uid)
    if (event === undefined) report("missing", `${nameOfLine(line)}, which stood in the list`)
    else if (!isObject(event.object) || !equal(keptOf(event.object), keptOf(line.object)))
      report("wrong start", `line ${event.position}: ${nameOf(event)} where the list shows ${nameOfLine(line)}`)
  }
  for (const event of state.values())
    report("wrong start", `line ${event.position}: ${nameOf(event)} did not stand in the list`)
}

/** The changes that `detect` asks for, by key, in the order of the stream. */
const expectedChanges = (
  gvk: string,
  rule: Rule,
  listed: readonly ObjectLine[],
  changes: readonly ObjectLine[],
): Map<string, ObjectLine> => {
  const known = new Map(listed.map((line) => [line.uid, keptPart(gvk, line.object, rule)]))
  const expected = new Map<string, ObjectLine>()
  const written = new Set<string>()
  for (const line of changes) {
    const key = `${line.uid} ${line.resourceVersion} ${line.line === "DELETED" ? "deleted" : "applied"}`
    if (written.has(key)) throw new Error(`the ledger holds ${nameOfLine(line)} twice`)
    written.add(key)
    const before = known.get(line.uid)
    const now = keptPart(gvk, line.object, rule)
    const isChange = line.line === "DELETED" || before === undefined || rule.detect === "all" || !equal(before, now)
    if (line.line === "DELETED") known.delete(line.uid)
    else known.set(line.uid, now)
    if (isChange) expected.set(key, line)
  }
  return expected
}

const compareChanges = (
  rule: Rule,
  events: readonly ExportedEvent[],
  expected: ReadonlyMap<string, ObjectLine>,
  report: Report,
): void => {
  const found = new Map<string, ExportedEvent>()
  for (const event of events) {
    const key = keyOf(event)
    const line = expected.get(key)
    if (line === undefined) report("extra", `line ${event.position}: ${nameOf(event)}`)
    else if (found.has(key)) report("duplicate", `line ${event.position}: ${nameOf(event)}`)
    else {
      found.set(key, event)
      if (!equal(recordedPart(event.object, rule), recordedPart(line.object, rule)))
        report("other object", `line ${event.position}: ${nameOf(event)} is not as the server sent it`)
    }
  }
  for (const [key, line] of expected) if (!found.has(key)) report("missing", `${line.line} ${nameOfLine(line)}`)

  const inLedgerOrder = [...expected.keys()].filter((key) => found.has(key))
  const wrong = [...found.values()].find((event, index) => keyOf(event) !== inLedgerOrder[index])
  if (wrong !== undefined) report("out of order", `line ${wrong.position}: ${nameOf(wrong)} is the first out of place`)
}

/** The whole object, status included; the rule may leave out `managedFields`, and a list's items carry no type. */
const recordedPart = (object: Json, rule: Rule): Json | undefined => {
  if (!isObject(object)) return object
  return keptPart("", object, { ...rule, detect: "all" })
}

const keyOf = (event: ExportedEvent): string => `${event.uid} ${event.resourceVersion} ${event.action}`

const nameOf = (event: ExportedEvent): string =>
  `${event.action} ${event.gvk} ${event.namespace}/${event.name} (${event.uid}) at ${event.resourceVersion}`

const nameOfLine = ({ gvk, uid, resourceVersion, object }: ObjectLine): string =>
  `${gvk} ${textAt(object, "metadata", "namespace")}/${textAt(object, "metadata", "name")} (${uid}) at ${resourceVersion}`
