/** Paths and methods that make no sense for a kind, told before anything is done. */

import { type Failure, methodNotAllowed, objectNotFound, pageNotFound, unknownResource } from "../answers/failure.ts"
import { type Resource, verbsOf } from "../kinds/resources.ts"
import type { Exchange } from "./exchange.ts"
import type { ResourceRoute } from "./router.ts"

/** Something below an object that is not the object itself, as `/status` is. */
export const isBelow = ({ subresource }: ResourceRoute): boolean =>
  subresource !== undefined && subresource !== "status"

/**
 * Whether the server has anything below the objects of a kind under this name. `unlisted`: see
 * {@link Backend.unlistedSubresources}.
 */
export const isServedBelow = (resource: Resource, subresource: string, unlisted: ReadonlySet<string> = none): boolean =>
  resource.subresources?.some((known) => known === subresource) === true ||
  (resource.custom !== true && unlisted.has(`${resource.plural}/${subresource}`))

const none: ReadonlySet<string> = new Set()

/** 404 or 405; `undefined` where a request may go on. What writes may do is theirs to say. */
export const refusedPath = (
  exchange: Exchange,
  route: ResourceRoute,
  resource: Resource,
  unlisted?: ReadonlySet<string>,
): Failure | undefined => {
  const { name, namespace, subresource, isWatch } = route
  if (isWatch === true && subresource !== undefined) return unknownResource
  if (isWatch === true && exchange.request.method !== "GET") return methodNotAllowed
  const misplaced = resource.namespaced ? name !== undefined && namespace === undefined : namespace !== undefined
  const unserved = subresource !== undefined && !isServedBelow(resource, subresource, unlisted)
  // Custom kinds have a handler of their own, which takes these for the paths of somebody else or for another object.
  if (resource.custom === true && misplaced) return pageNotFound
  if (resource.custom === true && unserved) return objectNotFound(resource, name ?? "")
  if (misplaced || unserved) return unknownResource
  if (exchange.request.method !== "GET" || isBelow(route)) return undefined
  return verbsOf(resource).includes(exchange.verb) ? undefined : methodNotAllowed
}
