/** The list of what changed: the newest of it, because a reader wants to know what preceded the end. */
import type { FieldDifference } from "../../json/difference.ts"
import { formatExactJson, type JsonValue } from "../../json/exact-json.ts"

/** Changes that are listed. */
export const MOST_CHANGES = 1000
/** Characters of a value; what a page shows of it is less. */
const LONGEST_VALUE = 1000

/** How something looks: as it should be, on its way, wrong, or over. */
export type Tone = "good" | "waiting" | "bad" | "over"

/** A field that differs, with its values as JSON. */
export interface ListedField {
  readonly path: string
  /** `undefined`: it was not there. */
  readonly before: string | undefined
  /** `undefined`: it is gone. */
  readonly after: string | undefined
}

/** One change. Times are µs since the Unix epoch. */
export interface Change {
  readonly time: number
  readonly namespace: string
  /** `Deployment/web`. */
  readonly label: string
  /** What happened, in words. */
  readonly what: string
  readonly tone: Tone | undefined
  readonly fields: ReadonlyArray<ListedField>
  /** Whether there are more fields than are listed. */
  readonly isCut: boolean
}

/** The newest changes. Memory: twice {@link MOST_CHANGES}. */
export class ChangeLog {
  #changes: Change[] = []
  #total = 0

  /** How many there were. */
  get total(): number {
    return this.#total
  }

  add(change: Change): void {
    this.#total++
    this.#changes.push(change)
    if (this.#changes.length >= 2 * MOST_CHANGES) this.#changes = this.#changes.slice(-MOST_CHANGES)
  }

  /** In the order of their times, which for containers may differ from the order in which they were seen. */
  newest(): ReadonlyArray<Change> {
    return this.#changes.slice(-MOST_CHANGES).sort((one, other) => one.time - other.time)
  }
}

/** The fields of differences, with their values as text. */
export const listedFields = (differences: ReadonlyArray<FieldDifference>): ReadonlyArray<ListedField> =>
  differences.map(({ path, before, after }) => ({ path, before: valueText(before), after: valueText(after) }))

const valueText = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : formatExactJson(value).slice(0, LONGEST_VALUE)
