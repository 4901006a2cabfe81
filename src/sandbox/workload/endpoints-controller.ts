/** Keeps the Endpoints and EndpointSlices of each Service with a selector up to date with its Pods. */

import {
  type Controller,
  enqueueSelf,
  KeyedController,
  keyOf,
  objectKey,
  type Surroundings,
  sameJson,
} from "../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  controllerReference,
  kinds,
  type Pod,
  type StringMap,
} from "../../kube/index.ts"
import { selectorMatches } from "../../kube/offline.ts"
import { enqueueSelecting } from "./pods/object-controller.ts"
import { isFinished, isReady, isTerminating } from "./pods/pods.ts"

/** The controller of both kinds. Slices that clients made stay as they are. */
export const endpointsController = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const services = cluster.cache<Service>(kinds.services)
  const pods = cluster.cache<Pod>(kinds.pods)
  const endpoints = cluster.cache<Endpoints>(kinds.endpoints)
  const slices = cluster.cache<EndpointSlice>(kinds.endpointSlices)

  const writeEndpoints = async (wanted: Endpoints): Promise<void> => {
    const { namespace, name } = wanted.metadata
    const known = endpoints.get(namespace, name)
    if (known === undefined) {
      try {
        await cluster.create(kinds.endpoints, wanted)
      } catch (error) {
        // A client's, which the watch has not delivered yet; its arrival leads here again.
        if (!(error instanceof AlreadyExistsError)) throw error
      }
      return
    }
    if (sameJson(known.subsets, wanted.subsets) && sameJson(known.metadata.labels, wanted.metadata.labels)) return
    const { subsets: _subsets, ...rest } = known
    const metadata = { ...known.metadata, labels: wanted.metadata.labels }
    await cluster.update(kinds.endpoints, { ...rest, ...(wanted.subsets && { subsets: wanted.subsets }), metadata })
  }

  /** Slices stay with their ports, so that a change of one Pod is a change of one slice. */
  const writeSlices = async (service: Service, contents: ReadonlyArray<SliceContent>): Promise<void> => {
    const { namespace, name } = service.metadata
    const free = slices
      .inNamespace(namespace)
      .filter((slice) => isOwnSlice(slice, name) && slice.metadata.deletionTimestamp === undefined)
      .sort((left, right) => (left.metadata.name < right.metadata.name ? -1 : 1))
    const labels = sliceLabels(service)
    const open: SliceContent[] = []
    for (const content of contents) {
      const at = free.findIndex(({ ports }) => sameJson(ports, content.ports))
      const [slice] = at < 0 ? [] : free.splice(at, 1)
      if (slice === undefined) open.push(content)
      else if (!sameJson(slice.endpoints, content.endpoints) || !sameJson(slice.metadata.labels, labels))
        await cluster.update(kinds.endpointSlices, { ...slice, ...content, metadata: { ...slice.metadata, labels } })
    }
    for (const content of open) {
      const slice = free.shift()
      if (slice === undefined) await cluster.create(kinds.endpointSlices, newSlice(service, content))
      else await cluster.update(kinds.endpointSlices, { ...slice, ...content, metadata: { ...slice.metadata, labels } })
    }
    for (const slice of free) await cluster.delete(kinds.endpointSlices, slice)
  }

  const reconcile = async (key: string): Promise<void> => {
    const service = services.byKey(key)
    if (service === undefined || service.metadata.deletionTimestamp !== undefined) {
      const left = endpoints.byKey(key)
      return left === undefined || !isOurs(left) ? undefined : cluster.delete(kinds.endpoints, left)
    }
    if (!isFilled(service)) return
    const groups = groupsOf(service, pods.inNamespace(service.metadata.namespace))
    await writeEndpoints(endpointsOf(service, groups))
    await writeSlices(service, sliceContents(groups))
  }

  const controller = new KeyedController("endpoints", surroundings, reconcile, () => Array.from(services.all(), keyOf))
  services.onChange(enqueueSelf(controller))
  endpoints.onChange(enqueueSelf(controller))
  enqueueSelecting(controller, pods, services, (service, pod) => isFilled(service) && selects(service, pod))
  slices.onChange((changes) => {
    for (const { previous, current } of changes) {
      const slice = current ?? previous
      const name = slice === undefined ? undefined : serviceOfSlice(slice)
      if (name !== undefined) controller.enqueue(objectKey(slice?.metadata.namespace, name))
    }
  })
  return controller
}

const isOurs = ({ metadata }: ApiObject): boolean =>
  metadata.labels?.["endpoints.kubernetes.io/managed-by"] === "endpoint-controller"

// Which addresses and ports a Service has: those of the Pods that it selects, in groups of Pods whose ports are the
// same (a named target port may be another number in each Pod). Pure; IPv4 only, as the addresses of virtual nodes.

/** A Service as the controller reads it. */
interface Service extends ApiObject {
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
interface EndpointPort {
  readonly name: string
  readonly port: number
  readonly protocol: string
  readonly appProtocol?: string
}

/** One Pod behind a Service. */
interface Backend {
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
interface BackendGroup {
  readonly ports: ReadonlyArray<EndpointPort>
  /** In the order of their addresses. */
  readonly backends: ReadonlyArray<Backend>
}

/** Services without a selector have the endpoints that clients give them, and external names have none. */
const isFilled = ({ spec }: Service): boolean =>
  spec.type !== "ExternalName" && Object.keys(spec.selector ?? {}).length > 0

/** Whether the Service selects the Pod. */
const selects = ({ spec }: Service, pod: Pod): boolean =>
  selectorMatches({ matchLabels: spec.selector ?? {} }, pod.metadata.labels)

/** The Pods that the Service selects and that have an address and one of its ports. */
const groupsOf = (service: Service, pods: Iterable<Pod>): ReadonlyArray<BackendGroup> => {
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

// Endpoints and EndpointSlices as the two controllers of Kubernetes write them (pkg/controller/endpoint,
// staging/endpointslice).

/** Endpoints as the controller writes them. */
export interface Endpoints extends ApiObject {
  readonly subsets?: ReadonlyArray<Subset>
}

interface Subset {
  readonly addresses?: ReadonlyArray<object>
  readonly notReadyAddresses?: ReadonlyArray<object>
  readonly ports?: ReadonlyArray<object>
}

/** An EndpointSlice as the controller writes it. */
export interface EndpointSlice extends ApiObject {
  readonly addressType: string
  readonly endpoints: ReadonlyArray<object> | null
  readonly ports: ReadonlyArray<EndpointPort> | null
}

const managedBy = "endpointslice.kubernetes.io/managed-by"
const serviceName = "kubernetes.io/service-name"
const sliceController = "endpointslice-controller.k8s.io"
const headless = "service.kubernetes.io/headless"

const labelsOf = ({ metadata, spec }: Service): StringMap => ({
  ...metadata.labels,
  ...(spec.clusterIP === "None" && { [headless]: "" }),
})

/** Whether the controller made the slice for the Service of this name. */
const isOwnSlice = ({ metadata }: ApiObject, service: string): boolean =>
  metadata.labels?.[managedBy] === sliceController && metadata.labels[serviceName] === service

/** The Service of a slice of the controller. */
const serviceOfSlice = ({ metadata }: ApiObject): string | undefined =>
  metadata.labels?.[managedBy] === sliceController ? metadata.labels[serviceName] : undefined

/** Endpoints in one slice at most. */
const longestSlice = 100

/** What changes with the Pods. */
type SliceContent = Pick<EndpointSlice, "endpoints" | "ports">

/** A Service without Pods has one empty slice. */
const sliceContents = (groups: ReadonlyArray<BackendGroup>): ReadonlyArray<SliceContent> => {
  const contents = groups.flatMap(({ ports, backends }) =>
    Array.from({ length: Math.ceil(backends.length / longestSlice) }, (_, index) => ({
      endpoints: backends.slice(index * longestSlice, (index + 1) * longestSlice).map(endpointOf),
      ports: ports.length === 0 ? null : ports,
    })),
  )
  return contents.length === 0 ? [{ endpoints: null, ports: null }] : contents
}

const endpointOf = ({ address, hostname, nodeName, target, ...backend }: Backend): object => ({
  addresses: [address],
  conditions: { ready: backend.isReady, serving: backend.isServing, terminating: backend.isTerminating },
  ...(hostname !== undefined && { hostname }),
  targetRef: target,
  ...(nodeName !== undefined && { nodeName }),
})

/** A slice to be created; the server completes its name. */
const newSlice = (service: Service, content: SliceContent): EndpointSlice => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: {
    name: "",
    generateName: `${service.metadata.name}-`,
    namespace: service.metadata.namespace,
    labels: sliceLabels(service),
    ownerReferences: [controllerReference({ ...service, apiVersion: "v1", kind: "Service" })],
  },
  addressType: "IPv4",
  ...content,
})

/** The labels of the slices of a Service. */
const sliceLabels = (service: Service): StringMap => ({
  ...labelsOf(service),
  [managedBy]: sliceController,
  [serviceName]: service.metadata.name,
})

/** The Endpoints of a Service with these Pods. */
const endpointsOf = (service: Service, groups: ReadonlyArray<BackendGroup>): Endpoints => {
  const subsets = groups.flatMap((group) => subsetOf(service, group))
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: {
      name: service.metadata.name,
      namespace: service.metadata.namespace,
      labels: { ...labelsOf(service), "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
    },
    ...(subsets.length > 0 && { subsets }),
  }
}

/** A Pod that is being deleted is left out, unless the Service publishes addresses that are not ready. */
const subsetOf = ({ spec }: Service, { ports, backends }: BackendGroup): ReadonlyArray<Subset> => {
  const listed = backends.filter((backend) => !backend.isTerminating || spec.publishNotReadyAddresses === true)
  const addresses = listed.filter((backend) => backend.isReady).map(addressOf)
  const notReadyAddresses = listed.filter((backend) => !backend.isReady).map(addressOf)
  if (listed.length === 0) return []
  return [
    {
      ...(addresses.length > 0 && { addresses }),
      ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
      ...(ports.length > 0 && { ports: ports.map(({ name, ...port }) => (name === "" ? port : { name, ...port })) }),
    },
  ]
}

const addressOf = ({ address, hostname, nodeName, target }: Backend): object => ({
  ip: address,
  ...(hostname !== undefined && { hostname }),
  ...(nodeName !== undefined && { nodeName }),
  targetRef: target,
})
