/**
 * Responses for all paths that are not resources: versions, groups, kinds, health; with the keys and in the order of
 * Kubernetes 1.34.4. Clients that accept it get `/api` and `/apis` as one aggregated document of version v2 (v2beta1
 * is gone in 1.34, and here).
 */

import { hash } from "node:crypto"
import { type Failure, pageNotFound, unknownResource } from "../answers/failure.ts"
import { type AcceptClause, parseAccept, takes } from "../forms/accept.ts"
import { noMediaType, noTransformation } from "../forms/not-acceptable.ts"
import type { Route } from "../http/router.ts"
import type { Resource, ResourceRegistry } from "../kinds/resources.ts"
import { coreVersions, groupDocument, groupList, resourceList } from "./plain-documents.ts"
import { listedVerbs, servedGroups, singularOf, subresourcesOf } from "./served-groups.ts"

// Discovery in one document: `APIGroupDiscoveryList` of apidiscovery.k8s.io/v2. Its ETag is the SHA-512 of the list's
// items, so it changes only when a kind is added or removed.

interface AggregatedDocument {
  readonly json: string
  /** With its quotes. */
  readonly etag: string
}

const aggregatedContentType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** `/api` describes the core group, `/apis` all others. */
const aggregatedDocument = (registry: ResourceRegistry, core: boolean): AggregatedDocument => {
  const items = JSON.stringify(
    servedGroups(registry)
      .filter(({ name }) => (name === "") === core)
      .map(({ name, versions }) => ({
        metadata: core ? {} : { name },
        versions: versions.map(({ version, resources }) => ({
          version,
          resources: resources.map(describe),
          freshness: "Current",
        })),
      })),
  )
  return {
    json: `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":${items}}`,
    etag: `"${hash("sha512", items, "hex").toUpperCase()}"`,
  }
}

const describe = (resource: Resource): object => {
  const { gvk, plural, namespaced, shortNames, categories, custom } = resource
  // Built-in kinds omit group and version, which the enclosing entries name.
  const own = custom === true ? { ...gvk } : { group: "", version: "", kind: gvk.kind }
  const subresources = subresourcesOf(resource).map(({ name, kind, verbs }) => ({
    subresource: name,
    responseKind: kind ?? own,
    verbs,
  }))
  return {
    resource: plural,
    responseKind: own,
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singularOf(resource),
    verbs: listedVerbs(resource),
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  }
}

type DiscoveryAnswer =
  | { readonly type: "json"; readonly document: object }
  | { readonly type: "cacheable"; readonly text: string; readonly contentType: string; readonly etag: string }
  | Failure

/** The request headers that discovery depends on. */
interface DiscoveryHeaders {
  /** host:port as the client sees it. */
  readonly host?: string | undefined
  readonly accept?: string | undefined
}

export const answerDiscovery = (
  route: Route,
  registry: ResourceRegistry,
  headers: DiscoveryHeaders,
  gitVersion: string,
): DiscoveryAnswer => {
  if (route.type === "unknown") return pageNotFound
  const canAggregate = route.type === "coreVersions" || route.type === "groups"
  const form = formOf(parseAccept(headers.accept ?? ""), canAggregate, route.type === "version")
  if (form === "aggregated") {
    const { json, etag } = aggregatedDocument(registry, route.type === "coreVersions")
    return { type: "cacheable", text: json, contentType: aggregatedContentType, etag }
  }
  return form === "plain" ? plain(route, registry, headers.host ?? "", gitVersion) : form
}

const plain = (route: Route, registry: ResourceRegistry, address: string, gitVersion: string): DiscoveryAnswer => {
  switch (route.type) {
    case "version":
      return { type: "json", document: { ...versionInformation, gitVersion } }
    case "coreVersions":
      return { type: "json", document: coreVersions(address) }
    case "groups":
      return { type: "json", document: groupList(registry) }
    case "group":
      return found(groupDocument(registry, route.group), pageNotFound)
    case "resources":
      return found(resourceList(registry, route.group, route.version), missingIn(registry, route.group))
    default:
      return pageNotFound
  }
}

/** An unknown path inside an existing group gets a 404 in JSON, one inside an unknown group the mux's plain text. */
export const missingIn = (registry: ResourceRegistry, group: string): Failure =>
  servedGroups(registry).some(({ name }) => name === group) ? unknownResource : pageNotFound

const found = (document: object | undefined, missing: Failure): DiscoveryAnswer =>
  document === undefined ? missing : { type: "json", document }

/** The first clause that can be met. `/version` ignores requested transformations. */
const formOf = (
  clauses: ReadonlyArray<AcceptClause>,
  canAggregate: boolean,
  ignoresTarget: boolean,
): "plain" | "aggregated" | Failure => {
  if (clauses.length === 0) return "plain"
  const json = clauses.filter((clause) => takes(clause, "json") || takes(clause, "yaml"))
  for (const { parameters } of json) {
    const [kind, group, version] = [parameters.get("as"), parameters.get("g"), parameters.get("v")]
    if (ignoresTarget || (kind === undefined && group === undefined && version === undefined)) return "plain"
    const isAggregated = kind === "APIGroupDiscoveryList" && group === "apidiscovery.k8s.io" && version === "v2"
    if (isAggregated && canAggregate) return "aggregated"
  }
  return json.length === 0 ? noMediaType() : noTransformation
}

const versionInformation = {
  major: "1",
  minor: "34",
  emulationMajor: "1",
  emulationMinor: "34",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "33",
  gitVersion: "",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
}
