/** The list of what changed: the newest of it, because a reader wants to know what preceded the end. */

import { excerpts, shortened, type ValuePair } from "../../../page/shown-text.ts"
import type { FieldDifference } from "../../json/difference.ts"
import { formatExactJson, type JsonValue } from "../../json/exact-json.ts"
import { Newest } from "./newest.ts"

/** Changes that are listed. */
export const MOST_CHANGES = 1000

/** How something looks: as it should be, on its way, wrong, or over. */
export type Tone = "good" | "waiting" | "bad" | "over"

/** A field that differs, with what is shown of its values as JSON. */
export interface ListedField {
  readonly path: string
  readonly values: ValuePair
}

/** One change. Times are µs since the Unix epoch. */
export interface Change {
  readonly time: number
  readonly namespace: string
  /** `Deployment/web`. */
  readonly label: string
  /** What happened, in words. */
  readonly what: string
  readonly isBad: boolean
  readonly fields: ReadonlyArray<ListedField>
  /** Whether there are more fields than are listed. */
  readonly isCut: boolean
}

/** The newest changes. */
export class ChangeLog {
  readonly #changes = new Newest<Change>(MOST_CHANGES)

  /** How many there were. */
  get total(): number {
    return this.#changes.total
  }

  add(change: Change): void {
    this.#changes.add(change)
  }

  /** In the order of their times, which for containers may differ from the order in which they were seen. */
  newest(): ReadonlyArray<Change> {
    return this.#changes.items().toSorted((one, other) => one.time - other.time)
  }
}

/** The fields of differences, with as much of their values as is shown. */
export const listedFields = (differences: ReadonlyArray<FieldDifference>): ReadonlyArray<ListedField> =>
  differences.map(({ path, before, after }) => ({
    path: shortened(path),
    values: excerpts([jsonOf(before), jsonOf(after)]),
  }))

const jsonOf = (value: JsonValue | undefined): string | undefined =>
  value === undefined ? undefined : formatExactJson(value)
