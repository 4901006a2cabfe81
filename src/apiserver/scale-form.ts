/** The Scale of an object, in the form that the client wants: as a table, with only its metadata, or as it is. */

import { apiVersionOf, formatGvk, type LabelSelectorObject, selectorText } from "../kube/offline.ts"
import type { Failure } from "./answers/failure.ts"
import type { Reply } from "./answers/reply.ts"
import { negotiateForm } from "./forms/negotiate.ts"
import type { Exchange } from "./http/exchange.ts"
import { makeChange } from "./kinds/change.ts"
import { member, text } from "./kinds/json-member.ts"
import { compact } from "./kinds/json-spacing.ts"
import type { KubernetesObject } from "./kinds/kubernetes-object.ts"
import type { Resource, ScalePaths } from "./kinds/resources.ts"

/** The kind of the document. It has no path of its own. */
export const scaleResource: Resource = {
  gvk: { group: "autoscaling", version: "v1", kind: "Scale" },
  plural: "scales",
  namespaced: true,
}

/** `now`: ms since the Unix epoch. */
export const scaleReply = ({ request, query }: Exchange, reply: Reply, now: () => number): Reply | Failure => {
  const form = negotiateForm({ resource: scaleResource, accept: request.headers.accept, query, answer: "object", now })
  if (form === undefined || "type" in form) return form ?? reply
  const json = reply.json.toString()
  const { metadata }: KubernetesObject = JSON.parse(json)
  const { name, namespace = "", uid, resourceVersion } = metadata
  const identity = { type: "ADDED", uid: String(uid), namespace, name, labels: undefined } as const
  const change = makeChange({ ...identity, revision: BigInt(String(resourceVersion)) }, json, compact)
  return { ...reply, json: form.object(change) }
}

/** An object with replicas. */
interface Scaled {
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The Scale of an object: its replicas, how many there are, and the selector of the pods that are counted. */
export const scaleOf = (resource: Resource, object: Scaled) => {
  const { name, namespace, uid, creationTimestamp, resourceVersion } = object.metadata
  const replicas = member(object, ...scalePath(resource, "specReplicas"))
  const selector = selectorOf(resource, object)
  return {
    apiVersion: apiVersionOf(scaleResource.gvk),
    kind: scaleResource.gvk.kind,
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: typeof replicas === "number" && replicas !== 0 ? { replicas } : {},
    status: {
      replicas: member(object, ...scalePath(resource, "statusReplicas")) ?? 0,
      ...(selector === "" ? {} : { selector }),
    },
  }
}

const builtinPaths: ScalePaths = { specReplicas: ".spec.replicas", statusReplicas: ".status.replicas" }

/** The names on the way to one of the two numbers in an object of the kind. */
export const scalePath = (
  { scalePaths = builtinPaths }: Resource,
  which: "specReplicas" | "statusReplicas",
): ReadonlyArray<string> => scalePaths[which].split(".").slice(1)

const selectorOf = (resource: Resource, object: Scaled): string => {
  const path = resource.scalePaths?.labelSelector
  if (resource.custom === true) return path === undefined ? "" : text(object, ...path.split(".").slice(1))
  const selector = member(object, "spec", "selector")
  // A ReplicationController's is a plain map.
  const isMap = formatGvk(resource.gvk) === "v1.ReplicationController"
  return selectorText((isMap ? { matchLabels: selector } : selector) as LabelSelectorObject | undefined) ?? ""
}
