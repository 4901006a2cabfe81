/**
 * What a subscription selects of a kind, as a set of terms (namespace, requirements on labels, requirements on fields), all of which must
 * hold. So a selection is part of another one exactly if it has all its terms, and whatever terms it has beyond those must be checked here.
 */

import * as Schema from "effect/Schema"
import {
  type FieldRequirement,
  formatGvk,
  type GroupVersionKind,
  type LabelRequirement,
  matchesLabels,
  parseFieldSelector,
  parseLabelSelector,
} from "../../kube/offline.ts"
import type { ObjectFilter } from "./state/object-state.ts"

/** A subscription cannot be served, whatever the server has. */
export class InvalidSubscription extends Schema.TaggedError<InvalidSubscription>()("InvalidSubscription", {
  /** The member that is wrong: `labelSelector`, `fieldSelector`. */
  member: Schema.String,
  problem: Schema.String,
}) {
  override get message() {
    return `${this.member}: ${this.problem}`
  }
}

/** The selecting part of a subscription, as a request would send it. */
export interface SelectionRequest {
  readonly gvk: GroupVersionKind
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
  /** Whether objects are kept with their managedFields. Default false. */
  readonly managedFields?: boolean | undefined
}

interface Term {
  /** Equal for equal terms. */
  readonly text: string
  /** `undefined` if only the server can tell. */
  readonly filter: ObjectFilter | undefined
}

export interface HubSelection {
  readonly request: SelectionRequest
  /** `apps/v1.Deployment`. */
  readonly kind: string
  /** Equal for equal selections, however they are spelled. */
  readonly key: string
  readonly terms: ReadonlyMap<string, Term>
  readonly hasManagedFields: boolean
}

/** Throws {@link InvalidSubscription}. */
export const selectionOf = (request: SelectionRequest): HubSelection => {
  const { namespace = "", labelSelector = "", fieldSelector = "" } = request
  const labels = parseLabelSelector(labelSelector)
  if ("problem" in labels) throw new InvalidSubscription({ member: "labelSelector", problem: labels.problem })
  const fields = parseFieldSelector(fieldSelector)
  if ("problem" in fields) throw new InvalidSubscription({ member: "fieldSelector", problem: fields.problem })
  const all = [
    ...(namespace === "" ? [] : [inNamespace(namespace)]),
    ...labels.map(labelTerm),
    ...fields.map(fieldTerm),
  ]
  const terms = new Map(all.map((term) => [term.text, term]))
  const kind = formatGvk(request.gvk)
  const hasManagedFields = request.managedFields === true
  const key = [kind, ...[...terms.keys()].sort(), ...(hasManagedFields ? ["with managedFields"] : [])].join("\n")
  return { request, kind, key, terms, hasManagedFields }
}

/**
 * How the objects of `narrow` are found among those of `wide`: a filter, or "all" of them. `undefined` if `wide` lacks some, or if only
 * the server can tell which they are.
 */
export const filterWithin = (wide: HubSelection, narrow: HubSelection): ObjectFilter | "all" | undefined => {
  if (wide.kind !== narrow.kind || wide.hasManagedFields !== narrow.hasManagedFields) return undefined
  for (const text of wide.terms.keys()) if (!narrow.terms.has(text)) return undefined
  const filters: ObjectFilter[] = []
  for (const [text, { filter }] of narrow.terms) {
    if (wide.terms.has(text)) continue
    if (filter === undefined) return undefined
    filters.push(filter)
  }
  const [only] = filters
  if (only === undefined) return "all"
  return filters.length === 1 ? only : (object) => filters.every((filter) => filter(object))
}

const inNamespace = (namespace: string): Term => ({
  text: `namespace ${namespace}`,
  // A server ignores the namespace of a cluster-scoped kind.
  filter: (object) => object.namespace === namespace || object.namespace === "",
})

const labelTerm = (requirement: LabelRequirement): Term => {
  const { key, operator, values } = requirement
  const selector = [requirement]
  return {
    text: `label ${key} ${operator} ${[...values].sort().join(",")}`,
    filter: (object) => matchesLabels(selector, object.labels),
  }
}

const fieldTerm = ({ field, isEqual, value }: FieldRequirement): Term => ({
  text: `field ${field}${isEqual ? "=" : "!="}${value}`,
  filter: fieldFilter(field, isEqual, value),
})

const fieldFilter = (field: string, isEqual: boolean, value: string): ObjectFilter | undefined => {
  if (field === "metadata.name") return ({ name }) => (name === value) === isEqual
  if (field === "metadata.namespace") return ({ namespace }) => (namespace === value) === isEqual
  return undefined
}
