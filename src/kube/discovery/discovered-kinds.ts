/**
 * All kinds of a server with their names, preferred versions first: in the two requests of aggregated discovery (Kubernetes 1.26), or from an
 * older server group by group.
 */

import { isRecord } from "../../is-record.ts"
import { describeFailure, type RequestOptions, requestOnce } from "../http/request-once.ts"
import type { ReadTransport } from "../http/transport.ts"
import { apiVersionOf, type GroupVersionKind, groupVersionPath } from "../kinds/gvk.ts"
import type { NamedKind } from "../kinds/kind-names.ts"
import { statusOfResponse } from "../status.ts"

// Which group versions another server provides behind the API server: metrics, and API servers of projects' own. Their lists may differ from
// what the API server itself promises.

const path = "/apis/apiregistration.k8s.io/v1/apiservices"

/**
 * The aggregated group versions, as `metrics.k8s.io/v1beta1`. `undefined` if the server does not say: the user may not list APIServices, or there is
 * no complete response in time. One request; never rejects.
 */
export const aggregatedApis = async (
  client: ReadTransport,
  options: RequestOptions,
): Promise<ReadonlySet<string> | undefined> => {
  const answer = await requestOnce(client, path, options)
  return answer.tag === "response" && answer.status === 200 ? readApiServices(answer.body) : undefined
}

/** Whether the server of this kind is one of them. */
export const isAggregated = (apis: ReadonlySet<string>, gvk: GroupVersionKind): boolean => apis.has(apiVersionOf(gvk))

/** An APIService names a Service unless the API server itself, or a CustomResourceDefinition, provides the API. */
const readApiServices = (body: Buffer): ReadonlySet<string> | undefined => {
  let list: unknown
  try {
    list = JSON.parse(body.toString("utf8"))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  if (!isRecord(list) || !Array.isArray(list.items)) return undefined
  const specs = list.items.map((item: unknown) => (isRecord(item) && isRecord(item.spec) ? item.spec : {}))
  return new Set(
    specs.flatMap(({ service, group, version }) => (isRecord(service) ? [`${String(group)}/${String(version)}`] : [])),
  )
}

// The kinds of a server that can be watched, each object once: a resource that a group serves in several versions is taken in the preferred one.

/** Of discovered kinds, which come in the order of preference; the order stays. */
export const watchableKinds = (discovered: ReadonlyArray<DiscoveredKind>): ReadonlyArray<DiscoveredKind> => {
  const taken = new Set<string>()
  return discovered.filter(({ gvk, plural, verbs }) => {
    if (!verbs.includes("list") || !verbs.includes("watch")) return false
    const resource = `${gvk.group}/${plural}`
    const isFirst = !taken.has(resource)
    taken.add(resource)
    return isFirst
  })
}

/** A kind as the server describes it. */
export interface DiscoveredKind extends NamedKind {
  /** What the server supports, regardless of permissions. */
  readonly verbs: ReadonlyArray<string>
  readonly isNamespaced: boolean
}

type DiscoveredKinds =
  | {
      readonly tag: "kinds"
      readonly kinds: ReadonlyArray<DiscoveredKind>
      /** Groups whose server did not respond, so that kinds of them may be missing. */
      readonly silentGroups: ReadonlySet<string>
      /** Whether these were two requests; otherwise one more for each group version. */
      readonly isAggregated: boolean
    }
  /** The server refused, or there is no complete response. */
  | { readonly tag: "failed"; readonly detail: string }

const accept = {
  Accept:
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json",
}

/** bytes. Megabytes on clusters with thousands of definitions. */
const largestDocument = 64 * 1024 * 1024

/** What a server said before, by path: it need not repeat what has not changed. */
export type DiscoveryCache = Map<string, { readonly tag: string; readonly found: Found }>

interface Found {
  readonly kinds: ReadonlyArray<DiscoveredKind>
  readonly silentGroups: ReadonlyArray<string>
  readonly isAggregated: boolean
}

interface DiscoveredResource {
  readonly resource?: string
  readonly scope?: string
  readonly verbs?: ReadonlyArray<string>
  readonly responseKind?: { readonly kind?: string }
  readonly singularResource?: string
  readonly shortNames?: ReadonlyArray<string>
}

interface LegacyResource {
  readonly name?: string
  readonly kind?: string
  readonly singularName?: string
  readonly namespaced?: boolean
  readonly verbs?: ReadonlyArray<string>
  readonly shortNames?: ReadonlyArray<string>
}

/** What `/api` and `/apis` return, in the aggregated form and in the old ones. */
interface DiscoveryDocument {
  readonly kind?: string
  readonly items?: ReadonlyArray<{
    readonly metadata?: { readonly name?: string }
    readonly versions?: ReadonlyArray<{
      readonly version?: string
      /** `Stale`: the server behind the API server did not respond. */
      readonly freshness?: string
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

/** The core group first. Never rejects; a group that does not respond is left out. `cache`: for the next call with the same server. */
export const discoverKinds = async (
  client: ReadTransport,
  cache: DiscoveryCache = new Map(),
): Promise<DiscoveredKinds> => {
  const all: Found[] = []
  for (const path of ["/api", "/apis"]) {
    const found = await discoverAt(client, path, cache)
    if (typeof found === "string") return { tag: "failed", detail: found }
    all.push(found)
  }
  return {
    tag: "kinds",
    kinds: all.flatMap(({ kinds }) => kinds),
    silentGroups: new Set(all.flatMap(({ silentGroups }) => silentGroups)),
    isAggregated: all.every(({ isAggregated }) => isAggregated),
  }
}

const discoverAt = async (client: ReadTransport, path: string, cache: DiscoveryCache): Promise<Found | string> => {
  const known = cache.get(path)
  const answer = await read(client, path, known?.tag)
  if (typeof answer === "string") return answer
  if (answer === undefined) return known?.found ?? `${path} returned HTTP 304 to a first request`
  const { document, tag } = answer
  const found = document.kind === "APIGroupDiscoveryList" ? aggregated(document) : await byGroup(client, document)
  // An old server's tag, if it has one, is that of the list of groups, not of what is in them.
  if (tag !== undefined && found.isAggregated) cache.set(path, { tag, found })
  else cache.delete(path)
  return found
}

interface Answer {
  readonly document: DiscoveryDocument
  readonly tag: string | undefined
}

/** The document; why there is none; `undefined` if it is the known one. */
const read = async (client: ReadTransport, path: string, known?: string): Promise<Answer | string | undefined> => {
  const headers = known === undefined ? accept : { ...accept, "If-None-Match": known }
  const outcome = await requestOnce(client, path, { headers, maximumBytes: largestDocument })
  if (outcome.tag !== "response") return describeFailure(outcome)
  if (outcome.status === 304) return undefined
  if (outcome.status !== 200) {
    const { code, reason, message } = statusOfResponse(outcome.status, outcome.headers, outcome.body)
    return `HTTP ${code} ${reason}: ${message}`
  }
  try {
    const document: DiscoveryDocument = JSON.parse(outcome.body.toString("utf8"))
    return { document, tag: outcome.headers.get("etag") }
  } catch (error) {
    if (error instanceof SyntaxError) return `${path} did not return JSON: is this a Kubernetes API server?`
    throw error
  }
}

const aggregated = ({ items = [] }: DiscoveryDocument): Found => ({
  kinds: items.flatMap(({ metadata, versions = [] }) =>
    versions.flatMap(({ version = "", resources = [] }) =>
      resources.flatMap(({ resource, responseKind, singularResource, shortNames, scope, verbs = [] }) =>
        named({ group: metadata?.name ?? "", version, kind: responseKind?.kind ?? "" }, resource, {
          singular: singularResource,
          shortNames,
          verbs,
          isNamespaced: scope === "Namespaced",
        }),
      ),
    ),
  ),
  silentGroups: items.flatMap(({ metadata, versions = [] }) =>
    versions.some(({ freshness }) => freshness === "Stale") ? [metadata?.name ?? ""] : [],
  ),
  isAggregated: true,
})

const byGroup = async (client: ReadTransport, document: DiscoveryDocument): Promise<Found> => {
  const core = (document.versions ?? []).map((version) => ({ group: "", version }))
  const others = (document.groups ?? []).flatMap(({ name: group = "", versions = [] }) =>
    versions.map(({ version = "" }) => ({ group, version })),
  )
  const lists = await Promise.all(
    [...core, ...others].map(async (place) => ({ place, list: await read(client, groupVersionPath(place)) })),
  )
  const isSilent = (list: Answer | string | undefined): list is string | undefined => typeof list !== "object"
  return {
    kinds: lists.flatMap(({ place, list }) =>
      isSilent(list)
        ? []
        : (list.document.resources ?? []).flatMap(
            ({ name, kind = "", singularName, shortNames, namespaced, verbs = [] }) =>
              // Subresources (`deployments/scale`) have kinds too, some of other groups.
              name?.includes("/")
                ? []
                : named({ ...place, kind }, name, {
                    singular: singularName,
                    shortNames,
                    verbs,
                    isNamespaced: namespaced === true,
                  }),
          ),
    ),
    silentGroups: lists.flatMap(({ place, list }) => (isSilent(list) ? [place.group] : [])),
    isAggregated: false,
  }
}

const named = (
  gvk: GroupVersionKind,
  plural: string | undefined,
  {
    singular,
    shortNames,
    verbs,
    isNamespaced,
  }: Pick<DiscoveredKind, "verbs" | "isNamespaced"> & {
    readonly singular: string | undefined
    readonly shortNames: ReadonlyArray<string> | undefined
  },
): ReadonlyArray<DiscoveredKind> =>
  gvk.kind === "" || plural === undefined
    ? []
    : [
        {
          gvk,
          plural,
          verbs,
          isNamespaced,
          ...(singular !== undefined && { singular }),
          ...(shortNames !== undefined && { shortNames }),
        },
      ]
