/** Paths and methods that make no sense for a kind, told before anything is done. */

import type { Exchange } from "./exchange.ts"
import { type Failure, methodNotAllowed, unknownResource } from "./failure.ts"
import { type Resource, verbsOf } from "./resources.ts"
import type { ResourceRoute } from "./router.ts"
import { isServedBelow } from "./writes/subresources.ts"

/** Something below an object that is not the object itself, as `/status` is. */
export const isBelow = ({ subresource }: ResourceRoute): boolean =>
  subresource !== undefined && subresource !== "status"

/** 404 or 405; `undefined` where a request may go on. What writes may do is theirs to say. */
export const refusedPath = (exchange: Exchange, route: ResourceRoute, resource: Resource): Failure | undefined => {
  const { name, namespace, subresource } = route
  const misplaced = resource.namespaced ? name !== undefined && namespace === undefined : namespace !== undefined
  const unserved = subresource !== undefined && !isServedBelow(resource, subresource)
  if (misplaced || unserved) return unknownResource
  if (exchange.request.method !== "GET" || isBelow(route)) return undefined
  return verbsOf(resource).includes(exchange.verb) ? undefined : methodNotAllowed
}
