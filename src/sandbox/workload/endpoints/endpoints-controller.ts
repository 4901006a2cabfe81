/** Keeps the Endpoints and EndpointSlices of each Service with a selector up to date with its Pods. */

import { keyOf, objectKey } from "../../../host/cache/object-cache.ts"
import { sameJson } from "../../../host/cache/same-json.ts"
import { type Controller, enqueueSelf, KeyedController, type Surroundings } from "../../../host/controller.ts"
import { AlreadyExistsError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { ApiObject, Pod } from "../../../kube/client/objects.ts"
import {
  type EndpointSlice,
  type Endpoints,
  endpointsOf,
  isOwnSlice,
  newSlice,
  type SliceContent,
  serviceOfSlice,
  sliceContents,
  sliceLabels,
} from "./endpoints-object.ts"
import { groupsOf, isFilled, type Service, selects } from "./service-endpoints.ts"

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
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      const pod = current ?? previous
      if (pod === undefined) continue
      for (const service of services.inNamespace(pod.metadata.namespace)) {
        const concerns = [previous, current].some((state) => state !== undefined && selects(service, state))
        if (isFilled(service) && concerns) controller.enqueue(keyOf(service))
      }
    }
  })
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
