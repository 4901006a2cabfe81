/**
 * What an export leaves out by namespace and by label (simkube.md §3.4), in SimKube's request format.
 *
 * Selectors are compiled once per export; an invalid one is refused then, whether or not any object carries its key
 * (SimKube notices later, and panics: W-08). A deletion is judged by the object's last state, never by a stub
 * without labels (W-11).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type { ObjectEvent } from "./event.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "./exact-json.ts"

const Operator = ["In", "NotIn", "Exists", "DoesNotExist"] as const
type Operator = (typeof Operator)[number]

/** A Kubernetes LabelSelector. All of its parts must hold; an empty one matches every object. */
export const LabelSelector = Schema.Struct({
  /** Absent, null: nothing asked. */
  matchLabels: Schema.optional(Schema.NullOr(Schema.Record(Schema.String, Schema.String))),
  matchExpressions: Schema.optional(
    Schema.NullOr(
      Schema.Array(
        Schema.Struct({
          key: Schema.String,
          /** A string here; {@link compileFilters} says which are allowed, together with the selector's place. */
          operator: Schema.String,
          values: Schema.optional(Schema.NullOr(Schema.Array(Schema.String))),
        }),
      ),
    ),
  ),
})
export type LabelSelector = typeof LabelSelector.Type

/** `filters` of an export request. Unknown fields are ignored, as SimKube ignores them. */
export const ExportFilters = Schema.Struct({
  /** Exact names. */
  excluded_namespaces: Schema.Array(Schema.String),
  /** An object is left out if any of these matches. */
  excluded_labels: Schema.Array(LabelSelector),
})
export type ExportFilters = typeof ExportFilters.Type

/** A selector of the request means nothing. */
export class InvalidSelectorError extends Schema.TaggedError<InvalidSelectorError>()("InvalidSelectorError", {
  /** Which of `excluded_labels`, and which of its `matchExpressions`; both count from 0. */
  selector: Schema.Int,
  expression: Schema.optional(Schema.Int),
  /** What was found. */
  found: Schema.String,
  /** What is allowed in its place. */
  allowed: Schema.String,
}) {
  override get message(): string {
    const place = this.expression === undefined ? "" : `.matchExpressions[${this.expression}]`
    return `excluded_labels[${this.selector}]${place}: ${this.found}; allowed: ${this.allowed}`
  }
}

/** An object's labels; absent is the same as none. */
export type Labels = Readonly<Record<string, JsonValue>> | undefined

/** Filters ready to be asked, in a few tens of ns. */
export interface CompiledFilters {
  /** Whether labels matter at all; if not, no object needs to be parsed for the filters' sake. */
  readonly needsLabels: boolean
  /** Whether everything in this namespace (empty: cluster-scoped objects) is left out. */
  excludesNamespace(namespace: string): boolean
  /** Whether an object with these labels is left out, whatever its namespace. */
  excludesLabels(labels: Labels): boolean
}

type Requirement = (labels: NonNullable<Labels>) => boolean

/**
 * Compiles the filters of a request. The selectors may be as they came in the request: their shape is checked here too.
 *
 * @throws InvalidSelectorError
 */
export const compileFilters = (filters: {
  readonly excluded_namespaces: ReadonlyArray<string>
  readonly excluded_labels: ReadonlyArray<unknown>
}): CompiledFilters => {
  const namespaces = new Set(filters.excluded_namespaces)
  const selectors = filters.excluded_labels.map(compileSelector)
  return {
    needsLabels: selectors.length > 0,
    excludesNamespace: (namespace) => namespaces.has(namespace),
    excludesLabels: (labels = {}) => selectors.some((selector) => selector.every((requirement) => requirement(labels))),
  }
}

const compileSelector = (source: unknown, selector: number): ReadonlyArray<Requirement> => {
  const decoded = Schema.decodeUnknownResult(LabelSelector)(source)
  if (Result.isFailure(decoded)) {
    const found = String(decoded.failure).replaceAll(/\s+/g, " ")
    throw new InvalidSelectorError({ selector, found, allowed: "a LabelSelector (matchLabels, matchExpressions)" })
  }
  const { matchLabels, matchExpressions } = decoded.success
  const equalities = Object.entries(matchLabels ?? {}).map(
    ([key, value]): Requirement =>
      (labels) =>
        Object.hasOwn(labels, key) && labels[key] === value,
  )
  const expressions = (matchExpressions ?? []).map(({ key, operator, values }, expression) => {
    const invalid = (found: string, allowed: string) =>
      new InvalidSelectorError({ selector, expression, found, allowed })
    const known = Operator.find((candidate) => candidate === operator)
    if (known === undefined) throw invalid(`operator ${JSON.stringify(operator)}`, Operator.join(", "))
    const wantsValues = known === "In" || known === "NotIn"
    const given = new Set<JsonValue | undefined>(values ?? [])
    if (wantsValues !== given.size > 0)
      throw invalid(`${known} with ${given.size} values`, wantsValues ? "one value or more" : "no values")
    return compileExpression(key, known, given)
  })
  return [...equalities, ...expressions]
}

const compileExpression = (
  key: string,
  operator: Operator,
  values: ReadonlySet<JsonValue | undefined>,
): Requirement => {
  switch (operator) {
    case "In":
      return (labels) => Object.hasOwn(labels, key) && values.has(labels[key])
    case "NotIn":
      // Kubernetes' rule: a label that is absent is in no set.
      return (labels) => !Object.hasOwn(labels, key) || !values.has(labels[key])
    case "Exists":
      return (labels) => Object.hasOwn(labels, key)
    case "DoesNotExist":
      return (labels) => !Object.hasOwn(labels, key)
  }
}

/** `metadata.labels` of an object; `undefined` if there are none. */
export const labelsOf = (object: JsonObject): Labels => {
  const { metadata } = object
  return isJsonObject(metadata) && isJsonObject(metadata.labels) ? metadata.labels : undefined
}

/**
 * Judges the events of one export in order. A `deleted` event carries its object's last state; for `vanished`, which
 * carries nothing, the verdict on the object's event before it stands, and without one only the namespace counts. Memory: the
 * UIDs of live objects that the labels exclude.
 */
export class EventFilter {
  readonly #filters: CompiledFilters
  readonly #excluded = new Set<string>()

  constructor(filters: CompiledFilters) {
    this.#filters = filters
  }

  /** Whether the event is left out. `object` is asked for the parsed object only if labels matter. */
  excludes(event: ObjectEvent, object: () => JsonObject): boolean {
    if (this.#filters.excludesNamespace(event.namespace)) return true
    if (!this.#filters.needsLabels) return false
    if (event.action === "vanished") return this.#excluded.delete(event.uid)
    const isExcluded = this.#filters.excludesLabels(labelsOf(object()))
    if (isExcluded && event.action === "applied") this.#excluded.add(event.uid)
    else this.#excluded.delete(event.uid)
    return isExcluded
  }
}
