/** One page of an answer: the items after those of earlier pages, at most so many and of so many bytes, and how many follow. */

import { formatInstant } from "../../local-time.ts"
import { formatExactJson, isJsonObject, type JsonObject, type JsonValue, withProperty } from "../../trace/index.ts"
import { isJsonList, objectsIn } from "../past/describe-change.ts"
import { RecordedByNone } from "../past/shortcoming-lines.ts"

// A value that is too long for an answer, with its longest parts left out and marked.

/** bytes that a mark takes; parts are not made shorter than that. */
const shortest = 64

/** bytes of a value as JSON. */
export const bytesOf = (value: JsonValue): number => Buffer.byteLength(formatExactJson(value))

/**
 * The value itself if its JSON has at most so many bytes, else a copy of about that length at most: texts are cut, of lists and objects what comes last is left
 * out, and each says how much is missing.
 */
export const shortened = (value: JsonValue, bytes: number): JsonValue => {
  const size = bytesOf(value)
  if (size <= bytes) return value
  if (typeof value === "string") return cut(value, Math.max(0, bytes - shortest), size)
  if (isJsonList(value)) return shortenedList(value, bytes)
  return isJsonObject(value) ? shortenedObject(value, bytes) : value
}

const cut = (text: string, bytes: number, size: number): string => {
  // What a character takes as JSON is at most six bytes; a cut in the middle of a pair would be no text.
  let end = 0
  for (let taken = 0; end < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(end) ?? 0)
    taken += Buffer.byteLength(JSON.stringify(character)) - 2
    if (taken > bytes) break
    end += character.length
  }
  return `${text.slice(0, end)}… (${size} bytes in all)`
}

/** What each of the parts may take: short ones what they need, and the others the same share of the rest. */
const shareOf = (sizes: ReadonlyArray<number>, bytes: number): number => {
  const ascending = sizes.toSorted((one, other) => one - other)
  let left = bytes
  for (const [index, size] of ascending.entries()) {
    const share = left / (ascending.length - index)
    if (size > share) return Math.max(shortest, Math.floor(share))
    left -= size
  }
  return bytes
}

const shortenedList = (items: ReadonlyArray<JsonValue>, bytes: number): JsonValue => {
  const kept: JsonValue[] = []
  const share = shareOf(
    items.map((item) => bytesOf(item) + 1),
    bytes - shortest,
  )
  let left = bytes - shortest
  for (const item of items) {
    const part = shortened(item, share)
    left -= bytesOf(part) + 1
    if (left < 0) break
    kept.push(part)
  }
  return kept.length === items.length ? kept : [...kept, `… (${items.length - kept.length} more items)`]
}

const shortenedObject = (object: JsonObject, bytes: number): JsonValue => {
  const members = Object.entries(object)
  const frame = (name: string): number => bytesOf(name) + 2
  const share = shareOf(
    members.map(([name, value]) => bytesOf(value) + frame(name)),
    bytes - shortest,
  )
  let kept: Record<string, JsonValue> = {}
  let left = bytes - shortest
  let count = 0
  for (const [name, value] of members) {
    const part = shortened(value, share - frame(name))
    left -= bytesOf(part) + frame(name)
    if (left < 0) break
    kept = withProperty(kept, name, part)
    count++
  }
  return count === members.length ? kept : withProperty(kept, "…", `${members.length - count} more members`)
}

/** bytes of the items of a page, as JSON. */
export const pageBytes = 64 * 1024

/** bytes of one item among others; one that was asked for by itself may take the page. */
export const itemBytes = 16 * 1024

/** Items after the page that are counted, before the rest of an answer is left unread. */
export const countedFurther = 50_000

interface PageLimits {
  /** Items of earlier pages. */
  readonly skip: number
  readonly limit: number
}

/** Takes the items of an answer in order. Memory: one page. */
export class AnswerPage {
  readonly #skip: number
  readonly #limit: number
  readonly #items: string[] = []
  #bytes = 0
  #offered = 0
  #further = 0
  #hasShortened = false

  constructor({ skip, limit }: PageLimits) {
    this.#skip = skip
    this.#limit = limit
  }

  /**
   * Offers the next item, which is only made if it is in the page. `mostBytes`: beyond which it is shortened. Returns whether further items are wanted, be it to be
   * counted.
   */
  offer(make: () => JsonValue, mostBytes = itemBytes): boolean {
    if (this.#offered++ < this.#skip) return true
    if (this.#further > 0 || this.#items.length >= this.#limit) return this.#isFurther()
    const whole = make()
    const item = shortened(whole, mostBytes)
    const text = formatExactJson(item)
    const bytes = Buffer.byteLength(text) + 1
    if (this.#items.length > 0 && this.#bytes + bytes > pageBytes) return this.#isFurther()
    this.#hasShortened ||= item !== whole
    this.#items.push(text)
    this.#bytes += bytes
    return true
  }

  #isFurther(): boolean {
    return ++this.#further < countedFurther
  }

  /** Items that all pages before this one and this one have: where the next one begins. */
  get end(): number {
    return this.#skip + this.#items.length
  }

  /** How many items follow that were offered. */
  get further(): number {
    return this.#further
  }

  /** Whether parts of items are left out. */
  get hasShortened(): boolean {
    return this.#hasShortened
  }

  get limit(): number {
    return this.#limit
  }

  get count(): number {
    return this.#items.length
  }

  /** The items as a JSON array. */
  json(): string {
    return `[${this.#items.join(",")}]`
  }
}

// What answers lack, for programs: the same as the other commands print, with times in RFC 3339.

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
  readonly #none: RecordedByNone
  #isRestricted = false
  #isUnread = false
  #isIncomplete = false

  /** `shards`: how many answer each question, of which one is to record a kind. */
  constructor(shards = 1) {
    this.#none = new RecordedByNone(shards)
  }

  /** Notes the end of a recorder's answer. */
  note(end: JsonObject): void {
    this.#isRestricted ||= end.isRestricted === true
    for (const list of lists)
      for (const entry of objectsIn(end[list])) {
        if (list === "unrecorded" && !this.#none.isMissing(entry)) continue
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
