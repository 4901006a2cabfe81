/** Endpoints and EndpointSlices as the two controllers of Kubernetes write them (pkg/controller/endpoint, staging/endpointslice). */

import type { ApiObject, StringMap } from "../../../kube/client/objects.ts"
import { controllerReference } from "../../../kube/client/owner-references.ts"
import type { Backend, BackendGroup, EndpointPort, Service } from "./service-endpoints.ts"

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
export const isOwnSlice = ({ metadata }: ApiObject, service: string): boolean =>
  metadata.labels?.[managedBy] === sliceController && metadata.labels[serviceName] === service

/** The Service of a slice of the controller. */
export const serviceOfSlice = ({ metadata }: ApiObject): string | undefined =>
  metadata.labels?.[managedBy] === sliceController ? metadata.labels[serviceName] : undefined

/** Endpoints in one slice at most. */
const longestSlice = 100

/** What changes with the Pods. */
export type SliceContent = Pick<EndpointSlice, "endpoints" | "ports">

/** A Service without Pods has one empty slice. */
export const sliceContents = (groups: ReadonlyArray<BackendGroup>): ReadonlyArray<SliceContent> => {
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
export const newSlice = (service: Service, content: SliceContent): EndpointSlice => ({
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
export const sliceLabels = (service: Service): StringMap => ({
  ...labelsOf(service),
  [managedBy]: sliceController,
  [serviceName]: service.metadata.name,
})

/** The Endpoints of a Service with these Pods. */
export const endpointsOf = (service: Service, groups: ReadonlyArray<BackendGroup>): Endpoints => {
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
