/** Which events are shown: `kind=pod ns=shop name=web*`, or a word that is in the name of the object or its kind. */

import { findKind } from "../../../kube/index.ts"
import { parseGvk } from "../../../kube/offline.ts"
import { builtinResource } from "../../past/past-table.ts"
import type { EventList, ListedObject } from "./event-list.ts"

/** All conditions must be met; a filter without any shows everything. */
interface EventFilter {
  /** As it was typed. */
  readonly text: string
  readonly terms: ReadonlyArray<FilterTerm>
}

interface FilterTerm {
  readonly about: "kind" | "namespace" | "name" | "any"
  /** In lower case, or a pattern with `*`. */
  readonly text: string
  readonly isNegated: boolean
}

/** Shows everything. */
export const noFilter: EventFilter = { text: "", terms: [] }

const abouts: ReadonlyMap<string, FilterTerm["about"]> = new Map([
  ["kind", "kind"],
  ["k", "kind"],
  ["namespace", "namespace"],
  ["ns", "namespace"],
  ["n", "namespace"],
  ["name", "name"],
])

/** Total: what has no known key before `=` is a word. `!` before a condition negates it. */
export const readFilter = (text: string): EventFilter => ({
  text: text.trim(),
  terms: text
    .split(/\s+/)
    .filter((word) => word !== "" && word !== "!")
    .map((word) => {
      const isNegated = word.startsWith("!")
      const bare = (isNegated ? word.slice(1) : word).toLowerCase()
      const [, key = "", value = ""] = /^(\w+)=(.*)$/s.exec(bare) ?? []
      const about = abouts.get(key)
      return about === undefined ? { about: "any", text: bare, isNegated } : { about, text: value, isNegated }
    }),
})

/** Whether an object meets all conditions. What is missing passes, unless it is of another kind or namespace. */
export const passes = ({ terms }: EventFilter, object: ListedObject): boolean =>
  terms.every(
    (term) => (object.lacks !== undefined && isUnknown(term, object)) || meets(term, object) !== term.isNegated,
  )

const isUnknown = ({ about }: FilterTerm, { gvk, namespace }: ListedObject): boolean =>
  about === "kind" ? gvk === "" : about !== "namespace" || namespace === ""

const meets = ({ about, text }: FilterTerm, { gvk, namespace, name }: ListedObject): boolean => {
  const lower = (given: string): string => given.toLowerCase()
  switch (about) {
    case "kind":
      return isKind(text, gvk)
    case "namespace":
      return isLike(text, lower(namespace))
    case "name":
      return isLike(text, lower(name))
    case "any":
      return lower(`${gvk} ${namespace}/${name}`).includes(text)
  }
}

/** `pod`, `po`, `v1.pod`, `deployments.apps`, and patterns of the kind. */
const isKind = (text: string, gvk: string): boolean => {
  const parsed = parseGvk(gvk)
  if (isLike(text, gvk.toLowerCase())) return true
  if (parsed === undefined) return false
  const named = builtinResource(gvk) ?? { gvk: parsed, plural: undefined }
  return isLike(text, parsed.kind.toLowerCase()) || findKind(text, [named]) !== undefined
}

const isLike = (pattern: string, text: string): boolean => {
  const [first = "", ...others] = pattern.split("*")
  const last = others.pop()
  if (last === undefined) return pattern === text
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  let at = first.length
  for (const part of others) {
    const found = text.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return at <= text.length - last.length
}

/** The events that pass a filter, which grow with their list. Rows are numbered from 0 on. */
export class FilteredEvents {
  readonly filter: EventFilter
  readonly #list: EventList
  readonly #rows: number[] = []
  /** By object: whether it passes. */
  readonly #passing: boolean[] = []
  #seen = 0

  constructor(list: EventList, filter: EventFilter) {
    this.#list = list
    this.filter = filter
  }

  get length(): number {
    if (this.filter.terms.length === 0) return this.#list.length
    for (; this.#seen < this.#list.length; this.#seen++)
      if (this.shows(this.#list.objectOf(this.#seen))) this.#rows.push(this.#seen)
    return this.#rows.length
  }

  /** The event in a row. */
  event(row: number): number {
    return this.filter.terms.length === 0 ? row : (this.#rows[row] ?? 0)
  }

  /** Whether the events of an object pass. */
  shows(object: number): boolean {
    const known = this.#passing[object]
    if (known !== undefined) return known
    const listed = this.#list.objects[object]
    const found = listed !== undefined && passes(this.filter, listed)
    this.#passing[object] = found
    return found
  }

  /** The last row whose event is not after that event; the first one if there is none. */
  rowAt(event: number): number {
    let [low, high] = [0, this.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if (this.event(middle) <= event) low = middle
      else high = middle - 1
    }
    return Math.max(0, low)
  }
}
