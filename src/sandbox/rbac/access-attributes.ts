/** A request as rules see it: a verb on a resource, or on a path that is none. */

import type { RequestUser } from "../../apiserver/index.ts"

export interface ResourceAttributes {
  readonly type: "resource"
  /** As in rules: `list`, `deletecollection`, `impersonate`; empty for a method that no rule allows by name. */
  readonly verb: string
  readonly group: string
  readonly resource: string
  /** Empty for the object itself. */
  readonly subresource: string
  /** Empty for the cluster scope and for all namespaces. */
  readonly namespace: string
  /** Empty for collections and for names that the request does not tell. */
  readonly name: string
}

/** A verb on a resource of the core group, whatever its namespace and name, unless something else is said. */
export const onResource = (
  verb: string,
  resource: string,
  more: Partial<ResourceAttributes> = {},
): ResourceAttributes => ({
  type: "resource",
  verb,
  group: "",
  resource,
  subresource: "",
  namespace: "",
  name: "",
  ...more,
})

interface PathAttributes {
  readonly type: "path"
  /** The method in lower case. */
  readonly verb: string
  readonly path: string
}

export type AccessAttributes = ResourceAttributes | PathAttributes

export interface Decision {
  readonly isAllowed: boolean
  /** The binding that allows it, or why rules could not be found; empty if there is nothing to say. */
  readonly reason: string
}

/** Decides what a user may do. */
export interface Authorizer {
  authorize(user: RequestUser, attributes: AccessAttributes): Decision
}
