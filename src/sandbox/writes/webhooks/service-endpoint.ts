/**
 * Where the Service of a webhook leads: to a ready Pod that it selects. The sandbox has no EndpointSlices, whose content would be the same.
 */

import { keyOf } from "../../../apiserver/watch/change.ts"
import type { StringMap } from "../../../kube/client/objects.ts"
import { matchesLabels, requirementsOf } from "../../../kube/label-selector.ts"
import { at, child, items, number, text } from "../../rules/fields.ts"
import type { Fields } from "../../rules/kind-rules.ts"
import type { ObjectStore } from "../../store/object-store.ts"
import { stateOf } from "../answer.ts"

/** `clientConfig.service`. */
export interface WebhookService {
  readonly namespace: string
  readonly name: string
  readonly port: number
  /** Absolute. */
  readonly path: string
}

/** An address to connect to, or why there is none, in the API server's words. */
type ServiceEndpoint =
  | { readonly tag: "endpoint" /** `host:port`, an IPv6 address in brackets. */; readonly address: string }
  | { readonly tag: "none"; readonly problem: string }

/** Resolves a Service by the present objects. */
export type FindEndpoint = (service: WebhookService) => ServiceEndpoint

/** Looks at the labels of all Pods per call: little beside a request to a webhook. */
export const serviceEndpoints = (store: ObjectStore): FindEndpoint => {
  const services = store.collection("v1.Service")
  const pods = store.collection("v1.Pod")
  return ({ namespace, name, port: given }) => {
    const found = services.live.get(keyOf(namespace, name))
    if (found === undefined) return { tag: "none", problem: `service "${name}" not found` }
    const service = child(stateOf(found.change), "spec")
    const port = items(service, "ports").find((one) => number(one, "port") === given)
    if (port === undefined) return { tag: "none", problem: `no service port ${given} found for service "${name}"` }
    const selector = child(service, "selector")
    if (selector !== undefined) {
      const requirements = requirementsOf({ matchLabels: selector as StringMap })
      for (const { change } of pods.live.values()) {
        const isSelected = change.namespace === namespace && matchesLabels(requirements, change.labels)
        const endpoint = isSelected ? ofPod(stateOf(change), port) : undefined
        if (endpoint !== undefined) return endpoint
      }
    }
    return { tag: "none", problem: `no endpoints available for service "${name}"` }
  }
}

/** A Pod that is being deleted or not ready gets no requests. */
const ofPod = (pod: Fields, servicePort: Fields): ServiceEndpoint | undefined => {
  const isReady = items(child(pod, "status"), "conditions").some(
    (condition) => text(condition, "type") === "Ready" && text(condition, "status") === "True",
  )
  if (!isReady || child(pod, "metadata")?.deletionTimestamp !== undefined) return undefined
  return endpointAt(text(child(pod, "status"), "podIP"), podPort(pod, servicePort))
}

const endpointAt = (host: string | undefined, port: number | undefined): ServiceEndpoint | undefined => {
  if (host === undefined || host === "" || port === undefined) return undefined
  return { tag: "endpoint", address: `${host.includes(":") ? `[${host}]` : host}:${port}` }
}

/** `targetPort` is a number, the name of a container's port, or absent: then it is the Service's port. */
const podPort = (pod: Fields, servicePort: Fields): number | undefined => {
  const target = servicePort.targetPort
  if (typeof target === "number" && target !== 0) return target
  if (typeof target !== "string" || target === "") return number(servicePort, "port")
  const ports = items(at(pod, "spec"), "containers").flatMap((container) => items(container, "ports"))
  return number(
    ports.find((one) => text(one, "name") === target),
    "containerPort",
  )
}
