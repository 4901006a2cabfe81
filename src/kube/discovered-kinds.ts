/**
 * All kinds of a server with their names, preferred versions first: in the two requests of aggregated discovery (Kubernetes 1.26), or from an
 * older server group by group.
 */
import type { GroupVersionKind } from "./gvk.ts"
import { describeFailure, requestOnce } from "./http/request-once.ts"
import type { ReadTransport } from "./http/transport.ts"
import { groupVersionPath } from "./kind.ts"
import type { NamedKind } from "./kind-names.ts"
import { statusOfResponse } from "./status.ts"

export type DiscoveredKinds =
  | { readonly tag: "kinds"; readonly kinds: ReadonlyArray<NamedKind> }
  /** The server refused, or there is no complete response. */
  | { readonly tag: "failed"; readonly detail: string }

const accept = {
  Accept:
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
}

/** bytes. Megabytes on clusters with thousands of definitions. */
const largestDocument = 64 * 1024 * 1024

interface DiscoveredResource {
  readonly resource?: string
  readonly responseKind?: { readonly kind?: string }
  readonly singularResource?: string
  readonly shortNames?: ReadonlyArray<string>
}

interface LegacyResource {
  readonly name?: string
  readonly kind?: string
  readonly singularName?: string
  readonly shortNames?: ReadonlyArray<string>
}

/** What `/api` and `/apis` return, in the aggregated form and in the old ones. */
interface DiscoveryDocument {
  readonly kind?: string
  readonly items?: ReadonlyArray<{
    readonly metadata?: { readonly name?: string }
    readonly versions?: ReadonlyArray<{
      readonly version?: string
      readonly resources?: ReadonlyArray<DiscoveredResource>
    }>
  }>
  readonly versions?: ReadonlyArray<string>
  readonly groups?: ReadonlyArray<{
    readonly name?: string
    readonly versions?: ReadonlyArray<{ readonly version?: string }>
  }>
  readonly resources?: ReadonlyArray<LegacyResource>
}

/** The core group first. Never rejects; a group that does not respond is left out. */
export const discoverKinds = async (client: ReadTransport): Promise<DiscoveredKinds> => {
  const kinds: NamedKind[] = []
  for (const path of ["/api", "/apis"]) {
    const document = await read(client, path)
    if (typeof document === "string") return { tag: "failed", detail: document }
    kinds.push(...(document.kind === "APIGroupDiscoveryList" ? aggregated(document) : await byGroup(client, document)))
  }
  return { tag: "kinds", kinds }
}

const read = async (client: ReadTransport, path: string): Promise<DiscoveryDocument | string> => {
  const outcome = await requestOnce(client, path, { headers: accept, maximumBytes: largestDocument })
  if (outcome.tag !== "response") return describeFailure(outcome)
  if (outcome.status !== 200) {
    const { code, reason, message } = statusOfResponse(outcome.status, outcome.headers, outcome.body)
    return `HTTP ${code} ${reason}: ${message}`
  }
  try {
    return JSON.parse(outcome.body.toString("utf8")) as DiscoveryDocument
  } catch (error) {
    if (error instanceof SyntaxError) return `${path} did not return JSON: is this a Kubernetes API server?`
    throw error
  }
}

const aggregated = ({ items = [] }: DiscoveryDocument): ReadonlyArray<NamedKind> =>
  items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version = "", resources = [] }) =>
      resources.flatMap(({ resource, responseKind, singularResource, shortNames }) =>
        named({ group: metadata?.name ?? "", version, kind: responseKind?.kind ?? "" }, resource, {
          singular: singularResource,
          shortNames,
        }),
      ),
    ),
  )

const byGroup = async (client: ReadTransport, document: DiscoveryDocument): Promise<ReadonlyArray<NamedKind>> => {
  const core = (document.versions ?? []).map((version) => ({ group: "", version }))
  const others = (document.groups ?? []).flatMap(({ name: group = "", versions = [] }) =>
    versions.map(({ version = "" }) => ({ group, version })),
  )
  const lists = await Promise.all(
    [...core, ...others].map(async (place) => ({ place, list: await read(client, groupVersionPath(place)) })),
  )
  return lists.flatMap(({ place, list }) =>
    typeof list === "string"
      ? []
      : (list.resources ?? []).flatMap(({ name, kind = "", singularName, shortNames }) =>
          // Subresources (`deployments/scale`) have kinds too, some of other groups.
          name?.includes("/") ? [] : named({ ...place, kind }, name, { singular: singularName, shortNames }),
        ),
  )
}

const named = (
  gvk: GroupVersionKind,
  plural: string | undefined,
  {
    singular,
    shortNames,
  }: { readonly singular: string | undefined; readonly shortNames: ReadonlyArray<string> | undefined },
): ReadonlyArray<NamedKind> =>
  gvk.kind === "" || plural === undefined
    ? []
    : [{ gvk, plural, ...(singular !== undefined && { singular }), ...(shortNames !== undefined && { shortNames }) }]
