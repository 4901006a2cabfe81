/**
 * Which addresses and ports a Service has: those of the Pods that it selects, in groups of Pods whose ports are the same (a named target
 * port may be another number in each Pod). Pure; IPv4 only, as the addresses of virtual nodes.
 */

import type { ApiObject, Pod } from "../../../kube/client/objects.ts"
import { selectorMatches } from "../../../kube/label-selector.ts"
import { isFinished, isReady, isTerminating } from "../pod-facts.ts"

/** A Service as the controller reads it. */
export interface Service extends ApiObject {
  readonly spec: {
    readonly type?: string
    readonly clusterIP?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ports?: ReadonlyArray<ServicePort>
    readonly publishNotReadyAddresses?: boolean
  }
}

interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly protocol?: string
  readonly appProtocol?: string
  readonly targetPort?: number | string
}

/** A port of a Service with its number in a Pod. */
export interface EndpointPort {
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly appProtocol?: string
}

/** One Pod behind a Service. */
export interface Backend {
  readonly address: string
  readonly isReady: boolean
  readonly isServing: boolean
  readonly isTerminating: boolean
  readonly nodeName: string | undefined
  readonly hostname: string | undefined
  readonly target: {
    readonly kind: "Pod"
    readonly namespace: string | undefined
    readonly name: string
    readonly uid: string | undefined
  }
}

/** Pods whose ports are the same. */
export interface BackendGroup {
  readonly ports: ReadonlyArray<EndpointPort>
  /** In the order of their addresses. */
  readonly backends: ReadonlyArray<Backend>
}

/** Services without a selector have the endpoints that clients give them, and external names have none. */
export const isFilled = ({ spec }: Service): boolean =>
  spec.type !== "ExternalName" && Object.keys(spec.selector ?? {}).length > 0

/** Whether the Service selects the Pod. */
export const selects = ({ spec }: Service, pod: Pod): boolean =>
  selectorMatches({ matchLabels: spec.selector ?? {} }, pod.metadata.labels)

/** The Pods that the Service selects and that have an address and one of its ports. */
export const groupsOf = (service: Service, pods: Iterable<Pod>): ReadonlyArray<BackendGroup> => {
  const groups = new Map<string, { readonly ports: ReadonlyArray<EndpointPort>; readonly backends: Backend[] }>()
  for (const pod of pods) {
    if (isFinished(pod) || !pod.status?.podIP || !selects(service, pod)) continue
    const ports = portsIn(service, pod)
    // None of the Service's ports leads to this Pod.
    if (ports.length === 0 && (service.spec.ports ?? []).length > 0) continue
    const key = JSON.stringify(ports)
    const group = groups.get(key) ?? { ports, backends: [] }
    group.backends.push(backendOf(service, pod, pod.status.podIP))
    groups.set(key, group)
  }
  return [...groups.entries()]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([, { ports, backends }]) => ({ ports, backends: backends.sort(byAddress) }))
}

const byAddress = (left: Backend, right: Backend): number => (left.address < right.address ? -1 : 1)

const backendOf = ({ metadata, spec }: Service, pod: Pod, address: string): Backend => {
  const [serves, ends] = [isReady(pod), isTerminating(pod)]
  const { namespace, name, uid } = pod.metadata
  const { hostname, subdomain, nodeName } = pod.spec
  return {
    address,
    isReady: spec.publishNotReadyAddresses === true || (serves && !ends),
    isServing: serves,
    isTerminating: ends,
    nodeName,
    hostname: subdomain === metadata.name && typeof hostname === "string" ? hostname : undefined,
    target: { kind: "Pod", namespace, name, uid },
  }
}

const portsIn = ({ spec }: Service, pod: Pod): ReadonlyArray<EndpointPort> =>
  (spec.ports ?? []).flatMap(({ name = "", port, protocol = "TCP", appProtocol, targetPort = port }) => {
    const number = typeof targetPort === "number" ? targetPort : namedPort(pod, targetPort, protocol)
    return number === undefined ? [] : [{ name, port: number, protocol, ...(appProtocol && { appProtocol }) }]
  })

interface ContainerPort {
  readonly name?: string
  readonly containerPort: number
  readonly protocol?: string
}

const namedPort = ({ spec }: Pod, wanted: string, wantedProtocol: string): number | undefined => {
  for (const { ports } of spec.containers) {
    for (const { name, containerPort, protocol = "TCP" } of (ports ?? []) as ReadonlyArray<ContainerPort>)
      if (name === wanted && protocol === wantedProtocol) return containerPort
  }
  return undefined
}
