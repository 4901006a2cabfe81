/** What answers about the past lack, in a line for each kind of warning: a recording of all kinds began with fifty first lists, and a line for each hid the answer. */

import { formatLocalTime } from "../../local-time.ts"
import { enumerated } from "../../text/index.ts"
import type { JsonObject } from "../../trace/index.ts"
import { formatCount } from "../terminal/quantities.ts"
import { objectsIn } from "./describe-change.ts"

/** How lines begin about what is missing. Others are about what is there. */
const incomplete = "incomplete: "

/** Kinds that are named in a line. */
const mostNamed = 3

/** One thing that an answer lacks. */
interface Shortcoming {
  /** What it is grouped by. */
  readonly group: string
  /** The kind, with its namespace if only that is concerned. */
  readonly name: string
  /** µs since the Unix epoch. */
  readonly from: number
  readonly to: number
  readonly detail: string
}

/** A kind is recorded by one of several shards: it is missing if none of them records it. */
export class RecordedByNone {
  readonly #shards: number
  readonly #answers = new Map<string, number>()

  /** `shards`: how many answer each question. */
  constructor(shards: number) {
    this.#shards = shards
  }

  /** Whether an entry in `unrecorded` of one more answer says that something is missing. */
  isMissing({ gvk, namespace, why }: JsonObject): boolean {
    if (why !== "never") return true
    const name = `${gvk} ${namespace}`
    const answers = (this.#answers.get(name) ?? 0) + 1
    this.#answers.set(name, answers)
    return answers >= this.#shards
  }
}

/** Collects what several answers lack. */
export class ShortcomingLines {
  /** Those that are equal are one. */
  readonly #found = new Map<string, Shortcoming>()
  readonly #absent: ReadonlyArray<string>
  readonly #none: RecordedByNone
  #isRestricted = false

  /** `absent`: addresses of shards of which nothing is recorded yet. `shards`: how many others answer each question, of which one is to record a kind. */
  constructor(absent: ReadonlyArray<string> = [], shards = 1) {
    this.#absent = absent
    this.#none = new RecordedByNone(shards)
  }

  /** Notes the end of an answer. */
  note(end: JsonObject): void {
    this.#isRestricted ||= end.isRestricted === true
    for (const each of objectsIn(end.unrecorded))
      if (this.#none.isMissing(each)) this.#add(String(each.why), each, [Number(each.time), Number(each.time)])
    for (const each of objectsIn(end.gaps))
      this.#add(`gap ${each.reason}`, each, [Number(each.fromTime), Number(each.toTime)], String(each.detail))
    for (const each of objectsIn(end.late)) this.#add("late", each, [Number(each.notBefore), Number(each.notAfter)])
    for (const each of objectsIn(end.withoutStatus)) this.#add("status", each, [0, 0])
    for (const each of objectsIn(end.selected)) this.#add(`selected ${each.selection}`, each, [0, 0])
  }

  /** Whether something that was asked for is missing. */
  get isIncomplete(): boolean {
    return this.#absent.length > 0 || [...this.#found.values()].some(({ group }) => !isNote(group))
  }

  /** `nowMs` decides which times need a date. */
  lines(nowMs: number): ReadonlyArray<string> {
    const time = (micros: number): string => formatLocalTime(micros / 1000, nowMs)
    const groups = [...Map.groupBy(this.#found.values(), ({ group }) => group).values()]
    const lines = [
      ...this.#absent.map((shard) => `${incomplete}the shard ${shard} has no stream yet`),
      ...groups.map((group) => lineOf(group, time)),
    ]
    return this.#isRestricted ? [...lines, "note: only what you may read in the cluster now is shown"] : lines
  }

  #add(group: string, { gvk, namespace = "" }: JsonObject, [from, to]: readonly [number, number], detail = ""): void {
    const name = namespace === "" ? String(gvk) : `${gvk} in namespace ${namespace}`
    this.#found.set([group, name, from, to, detail].join("|"), { group, name, from, to, detail })
  }
}

/** Nothing is missing that was asked for. */
const isNote = (group: string): boolean => group === "late" || group === "status" || group.startsWith("selected ")

const lineOf = (all: ReadonlyArray<Shortcoming>, time: (micros: number) => string): string => {
  const { group = "", detail = "" } = all[0] ?? {}
  const names = [...new Set(all.map(({ name }) => name))]
  const what = kindsText(names)
  const are = names.length === 1 ? "is" : "are"
  const [first, last] = [time(Math.min(...all.map(({ from }) => from))), time(Math.max(...all.map(({ to }) => to)))]
  const span = first === last ? first : `${first} to ${last}`
  switch (group) {
    case "never":
      return `${incomplete}${what} ${are} not recorded`
    case "before":
      return `${incomplete}${what} ${are} recorded only from ${span} on`
    case "after":
      return `${incomplete}${what} ${are} known only up to ${span}`
    case "late":
      return `late: changes of ${what} between ${first} and ${last} were received later, so their times are estimates`
  }
  if (group === "status")
    return `note: status changes were not recorded for ${what}, so the status of these objects may be unknown`
  if (group.startsWith("selected ")) return `note: of ${what} only these objects are recorded: ${group.slice(9)}`
  const reason = group.slice("gap ".length)
  const isAlike = all.every((each) => each.detail === detail)
  const why = isAlike && detail !== "" ? `${reason} (${detail})` : reason
  const gaps = all.length === 1 ? "a gap" : formatCount(all.length, "gap")
  return `${incomplete}${gaps} of ${what} from ${first} to ${last}: ${why}${isAlike ? "" : "; reel coverage names each"}`
}

/** `v1.Pod, v1.Node and 51 more kinds`. */
const kindsText = (names: ReadonlyArray<string>): string => {
  const more = names.length - mostNamed
  if (more > 1) return `${names.slice(0, mostNamed).join(", ")} and ${more} more kinds`
  return enumerated(names, "and")
}

interface IncompletePart {
  readonly gvk: string
  readonly namespace?: string | undefined
  readonly state: string
}

/** The kinds that a trace's header names as incomplete, together where their state is the same; recorded parts of windows differ by milliseconds. */
export const incompleteTogether = (
  parts: ReadonlyArray<IncompletePart>,
): ReadonlyArray<{ readonly what: string; readonly state: string }> =>
  [...Map.groupBy(parts, ({ state }) => (state.startsWith("recorded-") ? "recorded in part" : state))].map(
    ([state, group]) => ({
      what: kindsText(
        group.map(({ gvk, namespace = "" }) => (namespace === "" ? gvk : `${gvk} in namespace ${namespace}`)),
      ),
      state: group.length === 1 ? (group[0]?.state ?? state) : state,
    }),
  )
