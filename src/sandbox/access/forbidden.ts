/** Refusals: the statuses of Kubernetes 1.34.4 for a user who may not do something. */

import { type Failure, fail, type RequestUser } from "../../apiserver/index.ts"
import type { AccessAttributes } from "../rbac/access-attributes.ts"

/** `reason`: of the decision; empty for none. */
export const forbiddenAccess = (user: RequestUser, attributes: AccessAttributes, reason: string): Failure => {
  const said = `${escaped(problemOf(user, attributes))}${reason === "" ? "" : `: ${reason}`}`
  return attributes.type === "path"
    ? fail(403, `forbidden: ${said}`, { reason: "Forbidden", details: {} })
    : forbiddenObject(attributes, said)
}

/** `name` may be empty. */
export const forbiddenObject = (
  { group, resource, name }: { readonly group: string; readonly resource: string; readonly name: string },
  problem: string,
): Failure => {
  const object = `${group === "" ? resource : `${resource}.${group}`}${name === "" ? "" : ` ${JSON.stringify(name)}`}`
  return fail(403, `${object} is forbidden: ${problem}`, {
    reason: "Forbidden",
    details: { ...(name !== "" && { name }), ...(group !== "" && { group }), kind: resource },
  })
}

const problemOf = ({ username }: RequestUser, attributes: AccessAttributes): string => {
  const who = `User ${JSON.stringify(username)} cannot ${attributes.verb}`
  if (attributes.type === "path") return `${who} path ${JSON.stringify(attributes.path)}`
  const { group, resource, subresource, namespace } = attributes
  const what = subresource === "" ? resource : `${resource}/${subresource}`
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`
  return `${who} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}`
}

/** The real server wants none of its texts to look like HTML. */
const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
