/**
 * The fields that field selectors may name, kind by kind, as in Kubernetes 1.34.4. Every kind has its name and, with
 * the exceptions below, its namespace; the others are read from the object, which costs one parse of its JSON for all
 * selectors together.
 */

import { formatGvk } from "../../kube/gvk.ts"
import { list, member, number, scalar, text } from "../kinds/json-member.ts"
import type { Resource } from "../kinds/resources.ts"
import { type Change, parseObject } from "../watch/change.ts"

/** Reads one field of an object as it is stored, as text. */
type FieldReader = (object: unknown) => string

export interface SelectableFields {
  /** By the name that selectors use. */
  readonly readers: ReadonlyMap<string, FieldReader>
  /** In addition to the name, which all kinds have. */
  readonly hasNamespace: boolean
}

/** The value of a field in a state of an object. */
export const fieldOf = (change: Change, fields: SelectableFields, name: string): string => {
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

export const selectableFieldsOf = (resource: Resource): SelectableFields => {
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
