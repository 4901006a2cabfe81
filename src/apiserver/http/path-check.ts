/** Paths and methods that make no sense for a kind, refused before anything is done. */

import { type Failure, methodNotAllowed, objectNotFound, pageNotFound, unknownResource } from "../answers/failure.ts"
import { type Resource, verbsOf } from "../kinds/resources.ts"
import type { Exchange } from "./exchange.ts"
import type { ResourceRoute } from "./router.ts"

/** A subresource other than `/status` and `/approval`, which are the object itself. */
export const isBelow = ({ subresource }: ResourceRoute): boolean =>
  subresource !== undefined && subresource !== "status" && subresource !== "approval"

/**
 * Whether the server serves a subresource of this name for a kind. `unlisted`: see {@link
 * Backend.unlistedSubresources}.
 */
export const isServedBelow = (resource: Resource, subresource: string, unlisted: ReadonlySet<string> = none): boolean =>
  resource.subresources?.some((known) => known === subresource) === true ||
  (resource.custom !== true && unlisted.has(`${resource.plural}/${subresource}`))

const none: ReadonlySet<string> = new Set()

/** 404 or 405; `undefined` if the request may continue. Writes check their own methods. */
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
  // The real server's handler of custom kinds takes a misplaced path for another handler's, and an unserved subresource for
  // a missing object.
  if (resource.custom === true && misplaced) return pageNotFound
  if (resource.custom === true && unserved) return objectNotFound(resource, name ?? "")
  if (misplaced || unserved) return unknownResource
  if (exchange.request.method !== "GET" || isBelow(route)) return undefined
  return verbsOf(resource).includes(exchange.verb) ? undefined : methodNotAllowed
}
