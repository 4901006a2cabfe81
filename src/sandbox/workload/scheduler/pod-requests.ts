/** CPU and memory that a Pod requests (component-helpers resource.PodRequests). */

import type { Container, PodSpec } from "../../../kube/client/objects.ts"
import { thousandths, wholeUnits } from "../../../kube/quantity.ts"

export interface Resources {
  /** Thousandths of a CPU. */
  readonly cpu: number
  /** Bytes. */
  readonly memory: number
}

export const noResources: Resources = { cpu: 0, memory: 0 }

/**
 * Containers and sidecars together, or the largest init container with the sidecars started before it, whichever is
 * more; plus the overhead.
 */
export const requestsOf = (spec: PodSpec): Resources => {
  let sidecars = noResources
  let starting = noResources
  for (const container of spec.initContainers ?? []) {
    if (container.restartPolicy === "Always") {
      sidecars = add(sidecars, requestOf(container))
      starting = larger(starting, sidecars)
    } else starting = larger(starting, add(sidecars, requestOf(container)))
  }
  const running = spec.containers.map(requestOf).reduce(add, sidecars)
  return add(larger(running, starting), resourcesOf(spec.overhead))
}

export const resourcesOf = (quantities: Readonly<Record<string, string>> | undefined): Resources => ({
  cpu: thousandths(quantities?.cpu),
  memory: wholeUnits(quantities?.memory),
})

export const add = (left: Resources, right: Resources): Resources => ({
  cpu: left.cpu + right.cpu,
  memory: left.memory + right.memory,
})

const larger = (left: Resources, right: Resources): Resources => ({
  cpu: Math.max(left.cpu, right.cpu),
  memory: Math.max(left.memory, right.memory),
})

/** A limit without a request is also the request. */
const requestOf = ({ resources }: Container): Resources => resourcesOf({ ...resources?.limits, ...resources?.requests })
