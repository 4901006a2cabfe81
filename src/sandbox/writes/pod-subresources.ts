/** What clients do to Pods besides changing them: bind them to a node, evict them. */

import { keyOf } from "../change.ts"
import type { LiveObject } from "../collection.ts"
import { badRequest, fail, objectNotFound } from "../failure.ts"
import { matchesSelector } from "../lifecycle/object-selector.ts"
import type { Resource } from "../resources.ts"
import { child, items, number, text } from "../rules/fields.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { timestamp } from "../timestamp.ts"
import { doneStatus, stateOf } from "./answer.ts"
import { decodeBody } from "./body.ts"
import { deleteObject } from "./delete.ts"
import { noDeleteOptions } from "./delete-options.ts"
import { trackReplacement } from "./field-owners.ts"
import { refuse } from "./refusal.ts"
import type { WriteSurroundings } from "./surroundings.ts"
import type { WriteOptions } from "./write-options.ts"
import type { WriteRequest, Written } from "./write-request.ts"

const bindingKind = { group: "", version: "v1", kind: "Binding" }
const evictionKind = { group: "policy", version: "v1", kind: "Eviction" }

const podOf = (around: WriteSurroundings, namespace: string, name: string) => {
  const resource = around.registry.named("v1.Pod")
  const kind = around.kindOf(resource)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  return existing === undefined ? refuse(objectNotFound(resource, name)) : { resource, kind, existing }
}

/** POST of a Binding, to the pod or to the collection `bindings`. Throws Refusal. */
export const bindPod = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { object: binding } = decodeBody(
    request.body,
    request.contentType,
    request.resource,
    around.registry,
    bindingKind,
  )
  const name = request.name === "" ? text(binding.metadata, "name") : request.name
  const { resource, kind, existing } = podOf(around, request.namespace, name)
  const before = stateOf(existing.change)
  const node = text(child(binding, "target"), "name")
  refuseBinding(resource, before, binding, existing, node)
  if (options.dryRun) return doneStatus
  const after = bound(around, before, binding, node)
  after.metadata.managedFields = trackReplacement(around, kind, before, after, options.manager, "")
  around.store.write(kind.collection, after, existing, before)
  return doneStatus
}

const refuseBinding = (
  resource: Resource,
  pod: MutableObject,
  binding: MutableObject,
  { change }: LiveObject,
  node: string,
): void => {
  const { name } = change
  const conflict = (problem: string): never =>
    refuse(
      fail(409, `Operation cannot be fulfilled on pods/binding "${name}": ${problem}`, {
        reason: "Conflict",
        details: { name, kind: "pods/binding" },
      }),
    )
  // An error that nobody classified, so it is one of the server's own.
  if (node === "") refuse(fail(500, "target.name: Required value"))
  const uid = text(binding.metadata, "uid")
  if (uid !== "" && uid !== change.uid) {
    conflict(`Precondition failed: UID in precondition: ${uid}, UID in object meta: ${change.uid}`)
  }
  if (change.terminating === true) conflict(`pod ${name} is being deleted, cannot be assigned to a host`)
  const assigned = text(child(pod, "spec"), "nodeName")
  if (assigned !== "") conflict(`pod ${name} is already assigned to node "${assigned}"`)
  if (items(child(pod, "spec"), "schedulingGates").length > 0) {
    refuse(badRequest(`pod ${name} has non-empty .spec.schedulingGates`))
  }
  if (resource.plural !== "pods") refuse(objectNotFound(resource, name))
}

const bound = (around: WriteSurroundings, pod: MutableObject, binding: MutableObject, node: string): MutableObject => {
  const annotations = child(binding.metadata, "annotations")
  const status: Fields = { ...child(pod, "status") }
  const others = items(status, "conditions").filter((condition) => text(condition, "type") !== "PodScheduled")
  const scheduled = {
    type: "PodScheduled",
    status: "True",
    lastProbeTime: null,
    lastTransitionTime: timestamp(around.clock),
  }
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(annotations === undefined ? {} : { annotations: { ...child(pod.metadata, "annotations"), ...annotations } }),
    },
    spec: { ...child(pod, "spec"), nodeName: node },
    status: { ...status, conditions: [...others, scheduled] },
  }
}

/** POST of an Eviction: a deletion that disruption budgets may refuse with 429. Throws Refusal. */
export const evictPod = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { object } = decodeBody(request.body, request.contentType, request.resource, around.registry, evictionKind)
  if (text(object.metadata, "name") !== request.name) {
    refuse(badRequest("name in URL does not match name in Eviction object"))
  }
  const { kind, existing } = podOf(around, request.namespace, request.name)
  const pod = stateOf(existing.change)
  const phase = text(child(pod, "status"), "phase")
  const bare =
    phase === "Succeeded" || phase === "Failed" || phase === "Pending" || existing.change.terminating === true
  if (!bare) spendDisruption(around, pod, request.namespace, options.dryRun)
  const wanted = child(object, "deleteOptions")
  const preconditions = child(wanted, "preconditions")
  deleteObject(around, kind, existing, {
    ...noDeleteOptions,
    dryRun: options.dryRun,
    gracePeriodSeconds: number(wanted, "gracePeriodSeconds"),
    uid: text(preconditions, "uid"),
    resourceVersion: text(preconditions, "resourceVersion"),
  })
  return doneStatus
}

/** Takes one disruption from the budget that covers the pod. */
const spendDisruption = (around: WriteSurroundings, pod: MutableObject, namespace: string, dryRun: boolean): void => {
  const resource = around.registry.at("policy", "v1", "poddisruptionbudgets")
  if (resource === undefined) return
  const { collection } = around.kindOf(resource)
  for (const existing of collection.live.values()) {
    if (existing.change.namespace !== namespace) continue
    const budget = stateOf(existing.change)
    if (!matchesSelector(child(child(budget, "spec"), "selector"), child(pod.metadata, "labels"))) continue
    const status = child(budget, "status")
    const allowed = number(status, "disruptionsAllowed") ?? 0
    if (allowed <= 0) refuse(overBudget(existing.change.name, status))
    if (dryRun) continue
    const disruptedPods = { ...child(status, "disruptedPods"), [text(pod.metadata, "name")]: timestamp(around.clock) }
    const after = { ...budget, status: { ...status, disruptionsAllowed: allowed - 1, disruptedPods } }
    around.store.write(collection, after, existing, budget)
  }
}

const overBudget = (name: string, status: Fields | undefined) => {
  const needed = number(status, "desiredHealthy") ?? 0
  const healthy = number(status, "currentHealthy") ?? 0
  return fail(429, "Cannot evict pod as it would violate the pod's disruption budget.", {
    reason: "TooManyRequests",
    details: {
      causes: [
        {
          reason: "DisruptionBudget",
          message: `The disruption budget ${name} needs ${needed} healthy pods and has ${healthy} currently`,
        },
      ],
    },
  })
}
