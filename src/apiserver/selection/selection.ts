/**
 * The objects that a list or a watch selects, and the events of a watch when an object enters or leaves that set.
 */

import {
  type FieldRequirement,
  formatGvk,
  type LabelSelector,
  matchesFields,
  matchesLabels,
  parseFieldSelector,
  type ShardSelector,
} from "../../kube/offline.ts"
import type { Form } from "../forms/form.ts"
import {
  type Change,
  type ChangeRecord,
  type ChangeType,
  encodeLine,
  parseObject,
  restamped,
  retyped,
} from "../kinds/change.ts"
import { list, member, number, scalar, text } from "../kinds/json-member.ts"
import type { JsonFormat } from "../kinds/json-spacing.ts"
import type { Resource } from "../kinds/resources.ts"

export interface Selection {
  /** Absent means all namespaces. */
  readonly namespace?: string
  readonly labels: LabelSelector
  readonly fields: FieldSelector
  /** Absent means all of them. `text`: as it was given. */
  readonly shard?: ShardSelector & { readonly text: string }
}

/** Whether labels, fields or a shard narrow it in addition to the namespace. */
export const hasSelectors = (selection: Selection): boolean =>
  selection.labels.length > 0 || selection.fields.length > 0 || selection.shard !== undefined

export const selects = (selection: Selection, change: Change): boolean =>
  (selection.namespace === undefined || selection.namespace === change.namespace) &&
  isInShard(selection.shard, change) &&
  selectsFields(selection.fields, change) &&
  matchesLabels(selection.labels, change.labels)

/** By UID or namespace, which never change. */
const isInShard = (shard: ShardSelector | undefined, change: Change): boolean => {
  if (shard === undefined) return true
  const bytes = Buffer.from(shard.by === "uid" ? change.uid : change.namespace)
  return shard.ranges.some((range) => range.has(bytes, 0, bytes.length))
}

/**
 * The line that a watcher with this selection gets for a change, or `undefined` for none. An object whose labels or
 * fields begin to match is ADDED; one that stops matching is DELETED, with its last matching state under the new
 * version. `form` is the form in which the client wants the object; absent means as it is stored.
 */
export const lineFor = (
  record: ChangeRecord,
  selection: Selection,
  format: JsonFormat,
  form?: Form,
): Buffer | undefined => {
  const type = eventFor(record, selection)
  if (type === undefined) return undefined
  const { change, previous = change } = record
  const left = type === "DELETED" && change.type !== "DELETED"
  const state = left ? restamped(previous, "DELETED", change.revision, format) : change
  if (form !== undefined) return encodeLine(type, form.object(state), format).line
  return state.type === type ? state.line : retyped(state, type, format)
}

/** The type of a change for a client that sees only the selected objects. */
const eventFor = ({ change, previous }: ChangeRecord, selection: Selection): ChangeType | undefined => {
  const matches = selects(selection, change)
  // Namespace, name and UID never change, so only labels and other fields can make an object start or stop matching.
  const isFixed = selection.labels.length === 0 && !canChange(selection.fields)
  if (isFixed || previous === undefined || change.type === "ADDED") return matches ? change.type : undefined
  const matched = selects(selection, previous)
  if (change.type === "DELETED") return matched ? "DELETED" : undefined
  if (matched) return matches ? "MODIFIED" : "DELETED"
  return matches ? "ADDED" : undefined
}

// Field selectors over the fields that the kind allows.

interface FieldCondition extends FieldRequirement {
  /** Where the kind's own fields are read from; not needed for name and namespace. */
  readonly fields: SelectableFields
}

/** All conditions must hold; an empty selector matches everything. */
type FieldSelector = ReadonlyArray<FieldCondition>

/** Whether a selector selects the object of a change. */
export const selectsFields = (selector: FieldSelector, change: Change): boolean =>
  matchesFields(selector, ({ field, fields }) => {
    if (field === "metadata.name") return change.name
    return field === "metadata.namespace" ? change.namespace : fieldOf(change, fields, field)
  })

/** Whether an object can start or stop matching when it changes: names never change, other fields may. */
const canChange = (selector: FieldSelector): boolean =>
  selector.some(({ field }) => field !== "metadata.name" && field !== "metadata.namespace")

/** A selector of a kind; the problem is the message of a 400. */
export const fieldSelectorOf = (text: string, resource: Resource): FieldSelector | { readonly problem: string } => {
  const selector = parseFieldSelector(text)
  if ("problem" in selector) return { problem: selector.serverText }
  const fields = selectableFieldsOf(resource)
  const unknown = selector.find(({ field }) => {
    if (field === "metadata.namespace") return !fields.hasNamespace
    return field !== "metadata.name" && !fields.readers.has(field)
  })
  if (unknown !== undefined) return { problem: `${JSON.stringify(unknown.field)} cannot be selected by` }
  return selector.map((requirement) => ({ ...requirement, fields }))
}

// The fields that field selectors may name, kind by kind, as in Kubernetes 1.34.4. Every kind has its name and, with
// the exceptions below, its namespace; the others are read from the object, which costs one parse of its JSON for all
// selectors together.

/** Reads one field of an object as it is stored, as text. */
type FieldReader = (object: unknown) => string

interface SelectableFields {
  /** By the name that selectors use. */
  readonly readers: ReadonlyMap<string, FieldReader>
  /** In addition to the name, which all kinds have. */
  readonly hasNamespace: boolean
}

/** The value of a field in a state of an object. */
const fieldOf = (change: Change, fields: SelectableFields, name: string): string => {
  let known = values.get(change)
  // Two kinds may be views of one object with different names for its fields.
  if (known?.fields !== fields) {
    const object = parseObject(change)
    known = { fields, values: new Map(Array.from(fields.readers, ([field, read]) => [field, read(object)])) }
    values.set(change, known)
  }
  return known.values.get(name) ?? ""
}

interface KnownValues {
  readonly fields: SelectableFields
  readonly values: ReadonlyMap<string, string>
}

const values = new WeakMap<Change, KnownValues>()

const selectableFieldsOf = (resource: Resource): SelectableFields => {
  if (resource.custom !== true) return builtin.get(formatGvk(resource.gvk)) ?? namesOnly
  const known = custom.get(resource) ?? customFields(resource)
  custom.set(resource, known)
  return known
}

const custom = new WeakMap<Resource, SelectableFields>()

const namesOnly: SelectableFields = { readers: new Map(), hasNamespace: true }

const customFields = ({ selectableFields = [], namespaced }: Resource): SelectableFields => ({
  readers: new Map(selectableFields.map((path) => [path, at(path)])),
  hasNamespace: namespaced,
})

/** Reads the field at a path of plain names; numbers and booleans as text. */
const at = (path: string): FieldReader => {
  const names = path.split(".")
  return (object) => scalar(object, ...names) ?? ""
}

const readAt = (...paths: ReadonlyArray<string>): ReadonlyArray<readonly [string, FieldReader]> =>
  paths.map((path) => [path, at(path)])

const flagAt =
  (...path: ReadonlyArray<string>): FieldReader =>
  (object) =>
    String(member(object, ...path) === true)

const countAt =
  (...path: ReadonlyArray<string>): FieldReader =>
  (object) =>
    String(number(object, ...path))

const podFields = readAt(
  "spec.nodeName",
  "spec.restartPolicy",
  "spec.schedulerName",
  "spec.serviceAccountName",
  "status.phase",
  "status.nominatedNodeName",
)

/** Go's names of the fields of an Event and those of its other view. */
const eventFields: ReadonlyArray<readonly [core: string, events: string]> = [
  ...["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"].map(
    (name) => [`involvedObject.${name}`, `regarding.${name}`] as const,
  ),
  ["reason", "reason"],
  ["reportingComponent", "reportingController"],
  ["type", "type"],
]

const eventSource: FieldReader = (event) => text(event, "source", "component") || text(event, "reportingComponent")

const fields = (
  readers: ReadonlyArray<readonly [string, FieldReader]>,
  rest: Partial<Omit<SelectableFields, "readers">> = {},
): SelectableFields => ({ readers: new Map(readers), hasNamespace: true, ...rest })

const builtin = new Map<string, SelectableFields>([
  [
    "v1.Pod",
    fields([
      ...podFields,
      // The name before v1.
      ["spec.host", at("spec.nodeName")],
      ["status.podIP", (pod) => text(list(pod, "status", "podIPs")[0], "ip") || text(pod, "status", "podIP")],
      // The server accepts it and never fills it in: only the empty value matches.
      ["status.podIPs", () => ""],
      ["spec.hostNetwork", flagAt("spec", "hostNetwork")],
    ]),
  ],
  ["v1.Node", fields([["spec.unschedulable", flagAt("spec", "unschedulable")]], { hasNamespace: false })],
  ["v1.Namespace", fields(readAt("status.phase"), { hasNamespace: false })],
  ["v1.Secret", fields(readAt("type"))],
  ["v1.Service", fields(readAt("spec.clusterIP", "spec.type"))],
  ["v1.ReplicationController", fields([["status.replicas", countAt("status", "replicas")]])],
  ["batch/v1.Job", fields([["status.successful", countAt("status", "succeeded")]])],
  ["v1.Event", fields([...eventFields.map(([core]) => [core, at(core)] as const), ["source", eventSource]])],
  // Read from the stored object, which is the core one.
  ["events.k8s.io/v1.Event", fields(eventFields.map(([core, events]) => [events, at(core)] as const))],
])
