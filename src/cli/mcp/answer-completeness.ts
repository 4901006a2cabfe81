/** What answers lack, for programs: the same as the other commands print, with times in RFC 3339. */
import { formatInstant } from "../../local-time.ts"
import { formatExactJson, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { objectsIn } from "../past/describe-change.ts"

/** Entries of each list in an answer; how many more there are is said. */
const mostEntries = 20

const lists = ["gaps", "unrecorded", "late", "selected", "withoutStatus"] as const

const times = new Set([
  ...["time", "fromTime", "toTime", "notBefore", "notAfter", "start", "end", "since", "until"],
  ...["receivedFrom", "receivedTo", "receivedStart", "receivedEnd"],
])

/** Members that are times in µs since 1970, as RFC 3339; the other members as they are. 0 stays: it is no time, but the beginning. */
export const withReadableTimes = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      times.has(name) && typeof member === "number" && member > 0 ? formatInstant(member) : member,
    ]),
  )

/** Collects what the parts of an answer lack. */
export class AnswerCompleteness {
  readonly #found = new Map<(typeof lists)[number], Map<string, JsonObject>>()
  #isRestricted = false
  #isUnread = false
  #isIncomplete = false

  /** Notes the end of a recorder's answer. */
  note(end: JsonObject): void {
    this.#isRestricted ||= end.isRestricted === true
    for (const list of lists)
      for (const entry of objectsIn(end[list])) {
        const entries = this.#found.get(list) ?? new Map<string, JsonObject>()
        this.#found.set(list, entries)
        entries.set(formatExactJson(entry), withReadableTimes(entry))
      }
  }

  /** The answer was not read to its end, where a recorder says what it lacks. */
  noteUnread(): void {
    this.#isUnread = true
  }

  /** Something is missing, which is said elsewhere. */
  noteIncomplete(): void {
    this.#isIncomplete = true
  }

  /** `isComplete` is null if it is not known. What is not mentioned is not missing. */
  facts(): JsonObject {
    const lacksNothing = !this.#isIncomplete && !this.#found.has("gaps") && !this.#found.has("unrecorded")
    const isComplete = this.#isUnread && lacksNothing ? null : lacksNothing
    const members = lists.flatMap((list): ReadonlyArray<readonly [string, JsonValue]> => {
      const entries = [...(this.#found.get(list)?.values() ?? [])]
      if (entries.length === 0) return []
      const more = entries.length - mostEntries
      const kept: ReadonlyArray<readonly [string, JsonValue]> = [[list, entries.slice(0, mostEntries)]]
      return more > 0 ? [...kept, [`${list}NotShown`, more]] : kept
    })
    return { isComplete, ...(this.#isRestricted && { isRestricted: true }), ...Object.fromEntries(members) }
  }
}
