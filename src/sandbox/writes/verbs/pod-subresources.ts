/** Actions on Pods: binding them to a node, and eviction. */
import { badRequest, fail, type Resource } from "../../../apiserver/index.ts"
import { selectorMatches } from "../../../kube/offline.ts"
import { child, items, number, selectorIn, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import type { LiveObject } from "../../store/collection.ts"
import { stateOf } from "../../store/object-encoding.ts"
import { refuse } from "../../store/refusal.ts"
import { timestamp } from "../../store/stamps.ts"
import { admitNamespace } from "../admission.ts"
import { decodeBody } from "../request/request-body.ts"
import { preconditionUnmet } from "../request/write-failures.ts"
import { noDeleteOptions, type WriteOptions } from "../request/write-options.ts"
import type { WriteRequest, Written } from "../request/write-request.ts"
import { existingOf, type WriteSurroundings } from "../surroundings.ts"
import { admitAction } from "../webhook-points.ts"
import { doneStatus } from "./answer.ts"
import { deleteObject } from "./delete.ts"

const bindingKind = { group: "", version: "v1", kind: "Binding" }
const evictionKind = { group: "policy", version: "v1", kind: "Eviction" }

const podOf = (around: WriteSurroundings, namespace: string, name: string) => {
  const resource = around.registry.named("v1.Pod")
  return { resource, ...existingOf(around, { resource, namespace, name }) }
}

/** POST of a Binding, to the pod or to the collection `bindings`. Throws Refusal. */
export const bindPod = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { object: binding } = decodeBody(request.body, request.contentType, request.resource, bindingKind)
  const given = text(binding.metadata, "name")
  if (request.name !== "" && given !== request.name) {
    refuse(badRequest("name in URL does not match name in Binding object"))
  }
  if (given === "") refuse(badRequest("Name parameter required."))
  admitNamespace(around, request.resource, request.namespace, given)
  admitAction(around, request, bindingKind, binding, options)
  checkTarget(child(binding, "target"))
  const { resource, kind, existing } = podOf(around, request.namespace, given)
  const before = stateOf(existing.change)
  refuseBinding(resource, before, binding, existing)
  if (options.dryRun) return doneStatus
  // Without an owner: the real server's binding bypasses the managed fields.
  around.store.write(kind.collection, bound(around, before, binding), existing, before)
  return doneStatus
}

/** The real server does not classify these errors, so they are a 500. */
const checkTarget = (target: Fields | undefined): void => {
  const kind = text(target, "kind")
  const problems = [
    ...(kind === "" || kind === "Node"
      ? []
      : [`target.kind: Unsupported value: ${JSON.stringify(kind)}: supported values: "Node", "<empty>"`]),
    ...(text(target, "name") === "" ? ["target.name: Required value"] : []),
  ]
  if (problems.length > 0) refuse(fail(500, problems.length === 1 ? String(problems[0]) : `[${problems.join(", ")}]`))
}

const refuseBinding = (
  resource: Resource,
  pod: MutableObject,
  binding: MutableObject,
  { change }: LiveObject,
): void => {
  const { name } = change
  const uid = text(binding.metadata, "uid")
  const version = text(binding.metadata, "resourceVersion")
  if (uid !== "" && uid !== change.uid) refuse(preconditionUnmet(resource, name, "UID", uid, change.uid))
  if (version !== "" && version !== String(change.revision)) {
    refuse(preconditionUnmet(resource, name, "ResourceVersion", version, String(change.revision)))
  }
  const conflict = (problem: string): never =>
    refuse(
      fail(409, `Operation cannot be fulfilled on pods/binding "${name}": ${problem}`, {
        reason: "Conflict",
        details: { name, kind: "pods/binding" },
      }),
    )
  if (change.terminating === true) conflict(`pod ${name} is being deleted, cannot be assigned to a host`)
  const assigned = text(child(pod, "spec"), "nodeName")
  if (assigned !== "") conflict(`pod ${name} is already assigned to node "${assigned}"`)
  if (items(child(pod, "spec"), "schedulingGates").length > 0)
    conflict(`pod ${name} has non-empty .spec.schedulingGates`)
}

const bound = (around: WriteSurroundings, pod: MutableObject, binding: MutableObject): MutableObject => {
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
    spec: { ...child(pod, "spec"), nodeName: text(child(binding, "target"), "name") },
    status: { ...status, conditions: [...others, scheduled] },
  }
}

/** POST of an Eviction: a deletion that disruption budgets may refuse with 429. Throws Refusal. */
export const evictPod = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { object } = decodeBody(request.body, request.contentType, request.resource, evictionKind)
  if (text(object.metadata, "name") !== request.name) {
    refuse(badRequest("name in URL does not match name in Eviction object"))
  }
  admitAction(around, request, evictionKind, object, options)
  const wanted = child(object, "deleteOptions")
  const dryRun = options.dryRun || texts(wanted, "dryRun").includes("All")
  const { kind, existing } = podOf(around, request.namespace, request.name)
  const pod = stateOf(existing.change)
  const phase = text(child(pod, "status"), "phase")
  const bare =
    phase === "Succeeded" || phase === "Failed" || phase === "Pending" || existing.change.terminating === true
  if (!bare) spendDisruption(around, pod, request.namespace, dryRun)
  const preconditions = child(wanted, "preconditions")
  const deletion = {
    ...noDeleteOptions,
    dryRun,
    gracePeriodSeconds: number(wanted, "gracePeriodSeconds"),
    uid: text(preconditions, "uid"),
    resourceVersion: text(preconditions, "resourceVersion"),
  }
  // As in the real server, webhooks for deletions do not see evictions.
  deleteObject(around, kind, existing, deletion, () => undefined)
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
    const selector = selectorIn(child(budget, "spec"), "selector")
    if (!selectorMatches(selector, child(pod.metadata, "labels"))) continue
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
