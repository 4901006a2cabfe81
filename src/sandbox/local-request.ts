/**
 * Requests from inside the process: the same responses as over HTTP, without a socket. No credentials, no
 * faults, no entry in the request log, no authorization; only reads of one object and writes.
 */

import {
  type Eventually,
  type Failure,
  isServedBelow,
  methodNotAllowed,
  missingIn,
  objectBytes,
  objectNotFound,
  pageNotFound,
  parseRoute,
  type Resource,
  type ResourceRoute,
  statusText,
  unknownResource,
} from "../apiserver/index.ts"
import { formatGvk } from "../kube/offline.ts"
import type { StoreBackend } from "./store-backend.ts"
import { mediaType, type WriteOutcome, writeVerbOf } from "./writes/request/write-request.ts"

export interface LocalRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** With its query: `/api/v1/namespaces/default/pods?dryRun=All`. */
  readonly path: string
  /** Text and bytes are sent as they are; anything else becomes JSON. Default: no body. */
  readonly body?: unknown
  /** Default `application/json`, for a PATCH `application/merge-patch+json`. */
  readonly contentType?: string
  /** Names the field manager. Default `sandbox`. */
  readonly userAgent?: string
}

export interface LocalAnswer {
  readonly status: number
  /** JSON: the object, or a Status. */
  readonly text: string
  readonly warnings: ReadonlyArray<string>
}

/** At once, unless an admission webhook is asked. Never throws for a client's mistakes. */
export const answerLocally = (backend: StoreBackend, request: LocalRequest): Eventually<LocalAnswer> => {
  const mark = request.path.indexOf("?")
  const path = mark < 0 ? request.path : request.path.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? "" : request.path.slice(mark + 1))
  const route = parseRoute(path)
  if (route.type !== "resource") return shown(pageNotFound)
  const resource = backend.registry.at(route.group, route.version, route.plural)
  if (resource === undefined) return shown(missingIn(backend.registry, route.group))
  if (route.subresource !== undefined && !isServedBelow(resource, route.subresource, backend.unlistedSubresources))
    return shown(unknownResource)
  if (request.method === "GET") return shown(read(backend, resource, route))
  const outcome = write(backend, resource, route, query, request)
  return outcome instanceof Promise ? outcome.then(shown) : shown(outcome)
}

/** The object or list that a request is about. */
export interface RequestTarget {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** Empty for none. */
  readonly namespace: string
  readonly name: string
  readonly subresource: string
}

/** `undefined` if the path names no served kind. */
export const targetOf = (backend: StoreBackend, { path }: Pick<LocalRequest, "path">): RequestTarget | undefined => {
  const route = parseRoute(path.split("?", 1)[0] ?? "")
  const resource = route.type === "resource" ? backend.registry.at(route.group, route.version, route.plural) : undefined
  if (route.type !== "resource" || resource === undefined) return undefined
  const { namespace = "", name = "", subresource = "" } = route
  return { gvk: formatGvk(resource.gvk), namespace, name, subresource }
}

const read = (backend: StoreBackend, resource: Resource, route: ResourceRoute): WriteOutcome => {
  const { name, namespace = "", subresource } = route
  if (name === undefined) return methodNotAllowed
  if (subresource !== undefined && subresource !== "status") {
    return backend.readSubresource(resource, namespace, name, subresource) ?? unknownResource
  }
  const change = backend.get(resource, namespace, name)
  if (change === undefined) return objectNotFound(resource, name)
  return { type: "written", status: 200, json: objectBytes(change), warnings: [] }
}

const write = (
  backend: StoreBackend,
  resource: Resource,
  route: ResourceRoute,
  query: URLSearchParams,
  { method, body, contentType, userAgent = "sandbox" }: LocalRequest,
): Eventually<WriteOutcome> => {
  const verb = writeVerbOf(method, route, resource)
  if (verb === undefined) return methodNotAllowed
  const usual = method === "PATCH" ? "application/merge-patch+json" : "application/json"
  return backend.write({
    verb,
    resource,
    namespace: route.namespace ?? "",
    name: route.name ?? "",
    subresource: route.subresource ?? "",
    query,
    contentType: mediaType(contentType ?? usual),
    userAgent,
    body: bytesOf(body),
  })
}

const bytesOf = (body: unknown): Buffer => {
  if (body === undefined) return nothing
  return Buffer.from(typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body))
}

const nothing = Buffer.alloc(0)

const shown = (outcome: WriteOutcome | Failure): LocalAnswer => {
  const { warnings = [] } = outcome
  if (outcome.type === "failure") {
    return { status: outcome.code, text: outcome.plainText === true ? outcome.message : statusText(outcome), warnings }
  }
  return { status: outcome.status, text: outcome.json.toString(), warnings }
}
