/** What a request is about, in the words of rules: the real server's reading of method, path and query. */

import type { Route } from "../../apiserver/http/router.ts"
import { flag } from "../../apiserver/list/list-options.ts"
import { pathSegmentComplaints } from "../../kube/names.ts"
import type { AccessAttributes } from "../rbac/access-attributes.ts"

/** The parts of an {@link Exchange} that matter. */
export interface AskedRequest {
  readonly method: string
  /** As sent, without the query. */
  readonly path: string
  readonly route: Route
  readonly query: URLSearchParams
}

/** Never fails: whether the path leads anywhere is not known yet, and is nobody's business who may not ask. */
export const attributesOf = ({ method, path, route, query }: AskedRequest): AccessAttributes => {
  if (route.type !== "resource") return { type: "path", verb: method.toLowerCase(), path: decoded(path) }
  const { group, plural, name = "", subresource = "" } = route
  const verb = route.isWatch === true ? "watch" : (verbs[method] ?? "")
  // A Namespace counts as being in itself.
  const namespace = route.namespace ?? (plural === "namespaces" ? name : "")
  const about = {
    type: "resource",
    group,
    resource: plural,
    namespace,
    subresource: firstSegment(subresource),
  } as const
  if (name !== "" || (verb !== "get" && verb !== "delete")) return { ...about, verb, name }
  if (verb === "delete") return { ...about, verb: "deletecollection", name }
  return { ...about, verb: flag(query, "watch") === true ? "watch" : "list", name: selectedName(query) }
}

const verbs: Readonly<Record<string, string>> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
}

const firstSegment = (subresource: string): string => subresource.split("/", 1)[0] ?? ""

/** `fieldSelector=metadata.name=x`: a rule for objects of that name is then enough. */
const selectedName = (query: URLSearchParams): string => {
  const selector = query.get("fieldSelector") ?? ""
  const [, name = ""] = /(?:^|,)metadata\.name==?([^,=\\]*)(?:,|$)/.exec(selector) ?? []
  return pathSegmentComplaints(name).length === 0 ? name : ""
}

/** A broken escape never gets here: such a path is refused before. */
const decoded = (path: string): string => {
  try {
    return decodeURIComponent(path)
  } catch {
    // Escapes of bytes that are not UTF-8, which no rule can mean.
    return path
  }
}
