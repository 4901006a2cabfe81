/**
 * Places that select namespaces by name, in network policies and in the affinity of pods: they mean the namespaces of the replay.
 *
 * Every server sets the label `kubernetes.io/metadata.name` of a namespace to its name, so a selector by that label names namespaces too.
 * Other labels are those of the trace, and keep their values. The input is never changed.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { changedAt } from "../../trace/json/extended-pointer.ts"
import { withMember } from "../../trace/json/members.ts"

const nameLabel = "kubernetes.io/metadata.name"

type NewName = (namespace: string) => string

const peers: ReadonlyArray<ReadonlyArray<string>> = [
  ["spec", "ingress", "*", "from", "*"],
  ["spec", "egress", "*", "to", "*"],
]

const affinityTerms: ReadonlyArray<ReadonlyArray<string>> = ["podAffinity", "podAntiAffinity"].flatMap((affinity) => [
  ["affinity", affinity, "requiredDuringSchedulingIgnoredDuringExecution", "*"],
  ["affinity", affinity, "preferredDuringSchedulingIgnoredDuringExecution", "*", "podAffinityTerm"],
])

/** A NetworkPolicy whose peers are in the replay's namespaces. */
export const withNewNamespacesInPolicy = (policy: JsonObject, newName: NewName): JsonObject =>
  changedAll(policy, peers, (peer) => withSelector(peer, newName))

/** The spec of a pod whose affinity is about pods in the replay's namespaces. */
export const withNewNamespacesInPod = (spec: JsonObject, newName: NewName): JsonObject =>
  Object.hasOwn(spec, "affinity")
    ? changedAll(spec, affinityTerms, (term) => withSelector(withNames(term, "namespaces", newName), newName))
    : spec

const changedAll = (
  object: JsonObject,
  paths: ReadonlyArray<ReadonlyArray<string>>,
  change: (value: JsonObject) => JsonObject,
): JsonObject => {
  let changed: JsonValue = object
  for (const path of paths) changed = changedAt(changed, path, change)
  return isJsonObject(changed) ? changed : object
}

const withSelector = (holder: JsonObject, newName: NewName): JsonObject => {
  const labels = changedAll(holder, [["namespaceSelector", "matchLabels"]], (wanted) => {
    const name = Object.hasOwn(wanted, nameLabel) ? wanted[nameLabel] : undefined
    return typeof name === "string" ? withMember(wanted, nameLabel, newName(name)) : wanted
  })
  // In and NotIn have values; Exists and DoesNotExist have none.
  return changedAll(labels, [["namespaceSelector", "matchExpressions", "*"]], (expression) =>
    expression.key === nameLabel ? withNames(expression, "values", newName) : expression,
  )
}

const withNames = (holder: JsonObject, property: string, newName: NewName): JsonObject => {
  const names = Object.hasOwn(holder, property) ? holder[property] : undefined
  if (!Array.isArray(names)) return holder
  const renamed = (names as ReadonlyArray<JsonValue>).map((name) => (typeof name === "string" ? newName(name) : name))
  return withMember(holder, property, renamed)
}
