/**
 * Finds where a kind's objects are: one small document per group version, not the aggregated one, which may have
 * megabytes. A kind that is not installed is a result (`absent`), not an error. Nothing is cached here.
 */

import { nearest } from "../../text/index.ts"
import { describeFailure, type RequestFailure, type RequestOptions, requestOnce } from "../http/request-once.ts"
import type { ReadTransport } from "../http/transport.ts"
import { apiVersionOf, formatGvk, type GroupVersionKind, groupVersionPath, type Kind } from "../kinds/gvk.ts"
import { type ApiStatus, plainStatus, statusOfResponse } from "../status.ts"

/** The server's description of a kind. Plain data. */
export interface ApiResource extends Kind {
  /** `get`, `list`, `watch`, …: what the server supports, regardless of permissions. */
  readonly verbs: ReadonlyArray<string>
  /** `deployment`; absent if the server does not say. */
  readonly singular?: string
  /** `deploy`; absent: none. */
  readonly shortNames?: ReadonlyArray<string>
  /** `all`; absent: none. */
  readonly categories?: ReadonlyArray<string>
}

export type Discovery =
  | { readonly tag: "found"; readonly resource: ApiResource }
  | {
      readonly tag: "absent"
      /** Whether the whole group version is unknown, or only the kind in it. */
      readonly missing: "group-version" | "kind"
      /** One sentence; names {@link similar}. */
      readonly detail: string
      /** The kind of the group version that was probably meant; `undefined`: none is near. */
      readonly similar?: string | undefined
    }
  /** The server responded, but not with a list of resources. */
  | { readonly tag: "failed"; readonly status: ApiStatus }
  /** No complete response. */
  | { readonly tag: "unreachable"; readonly failure: RequestFailure; readonly detail: string }

/** Asks the server for one kind. Never rejects; one request, no retry. */
export const discover = async (
  client: ReadTransport,
  gvk: GroupVersionKind,
  options: RequestOptions = {},
): Promise<Discovery> => {
  const outcome = await requestOnce(client, groupVersionPath(gvk), options)
  if (outcome.tag !== "response") return { tag: "unreachable", failure: outcome, detail: describeFailure(outcome) }
  if (outcome.status === 200) return readResourceList(outcome.body, gvk)
  const status = statusOfResponse(outcome.status, outcome.headers, outcome.body)
  return outcome.status === 404 ? readNotFound(gvk, outcome.headers, status) : { tag: "failed", status }
}

/** Finds a kind in an `APIResourceList`. Pure; never throws. */
export const readResourceList = (body: Uint8Array, gvk: GroupVersionKind): Discovery => {
  const entries = parseEntries(body)
  if (entries === undefined) {
    const message = `${groupVersionPath(gvk)} did not return an APIResourceList: is this a Kubernetes API server?`
    return { tag: "failed", status: plainStatus(200, "", message) }
  }
  // Subresources (`deployments/scale`) have kinds too, some of other groups.
  const resources = entries.filter((entry) => !entry.name.includes("/"))
  const ofKind = resources.filter((entry) => entry.kind === gvk.kind)
  // Several resources may share a kind (bindings, reviews); the one that can be watched is the one to record.
  const entry = ofKind.find((candidate) => candidate.verbs.includes("watch")) ?? ofKind[0]
  if (entry !== undefined) {
    const { name: plural, kind: _, ...facts } = entry
    return { tag: "found", resource: { gvk, plural, ...facts } }
  }
  const kind = nearest(
    gvk.kind,
    resources.map((candidate) => candidate.kind),
  )
  const similar = kind === undefined ? undefined : formatGvk({ ...gvk, kind })
  const hint = similar === undefined ? "" : `; ${similar} does`
  return { tag: "absent", missing: "kind", detail: `${formatGvk(gvk)} does not exist on this server${hint}`, similar }
}

/**
 * An API server responds to an unknown group with text/plain, not with a Status. The core group always exists, and HTML comes from
 * something else: in both cases the address is wrong, and waiting for a kind there would never end.
 */
const readNotFound = (gvk: GroupVersionKind, headers: ReadonlyMap<string, string>, status: ApiStatus): Discovery => {
  const isHtml = headers.get("content-type")?.toLowerCase().includes("html") === true
  if (apiVersionOf(gvk) === "v1" || isHtml) {
    const message = `${groupVersionPath(gvk)} was not found (${status.message}): is this a Kubernetes API server?`
    return { tag: "failed", status: { ...status, message } }
  }
  return { tag: "absent", missing: "group-version", detail: `${apiVersionOf(gvk)} does not exist on this server` }
}

interface Entry extends Omit<ApiResource, "gvk" | "plural"> {
  readonly name: string
  readonly kind: string
}

const parseEntries = (body: Uint8Array): ReadonlyArray<Entry> | undefined => {
  let document: { kind?: unknown; resources?: unknown } | null
  try {
    document = JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.length).toString())
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  if (document?.kind !== "APIResourceList" || !Array.isArray(document.resources)) return undefined
  return document.resources.flatMap(readEntry)
}

/** Entries without name or kind are left out: aggregated servers have sent worse. */
const readEntry = (value: Readonly<Record<string, unknown>> | null): ReadonlyArray<Entry> => {
  const { name, kind, namespaced, verbs, singularName, shortNames, categories } = value ?? {}
  if (typeof name !== "string" || typeof kind !== "string") return []
  return [
    {
      ...{ name, kind, namespaced: namespaced === true, verbs: Array.isArray(verbs) ? verbs.map(String) : [] },
      ...(typeof singularName === "string" && singularName !== "" && { singular: singularName }),
      ...(Array.isArray(shortNames) && { shortNames: shortNames.map(String) }),
      ...(Array.isArray(categories) && { categories: categories.map(String) }),
    },
  ]
}
