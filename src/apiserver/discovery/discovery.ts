/**
 * Responses for all paths that are not resources: versions, groups, kinds, health; with the keys and in the order of
 * Kubernetes 1.34.4. Clients that accept it get `/api` and `/apis` as one aggregated document of version v2 (v2beta1
 * is gone in 1.34, and here).
 */
import { hash } from "node:crypto"
import { apiVersionOf } from "../../kube/offline.ts"
import { type Failure, pageNotFound, unknownResource } from "../answers/failure.ts"
import { type AcceptClause, noMediaType, noTransformation, parseAccept, takes } from "../forms/accept.ts"
import type { Route } from "../http/router.ts"
import { allVerbs, type Resource, type ResourceRegistry, type Subresource, verbsOf } from "../kinds/resources.ts"
import { compareVersions } from "../openapi/defined-kinds.ts"

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

// Discovery one document at a time: the groups, the versions of one group, the resources of one version.

/** `/api`. `address` is host:port as the client sees it. */
const coreVersions = (address: string): object => ({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
})

/** `/apis` */
const groupList = (registry: ResourceRegistry): object => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: servedGroups(registry)
    .filter(({ name }) => name !== "")
    .map(group),
})

/** `/apis/<group>`, `undefined` for a group without kinds. */
const groupDocument = (registry: ResourceRegistry, wanted: string): object | undefined => {
  const found = servedGroups(registry).find(({ name }) => name !== "" && name === wanted)
  return found === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...group(found) }
}

/** `/api/v1` and `/apis/<group>/<version>`; `undefined` for a version without kinds. */
const resourceList = (registry: ResourceRegistry, name: string, version: string): object | undefined => {
  const served = servedGroups(registry).find((candidate) => candidate.name === name)
  const found = served?.versions.find((candidate) => candidate.version === version)
  if (found === undefined) return undefined
  return {
    kind: "APIResourceList",
    // The core group's own list is the one document without an apiVersion.
    ...(name === "" ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf({ group: name, version, kind: "" }),
    resources: entriesOf(found),
  }
}

const group = ({ name, versions }: ServedGroup): object => {
  const list = versions.map(({ version }) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: list, preferredVersion: list[0] }
}

const entriesOf = ({ resources }: ServedVersion): ReadonlyArray<object> => resources.flatMap(entries)

const entries = (resource: Resource): ReadonlyArray<object> => {
  const { gvk, plural, namespaced, shortNames, categories } = resource
  const verbs = listedVerbs(resource)
  const main = {
    name: plural,
    singularName: singularOf(resource),
    namespaced,
    kind: gvk.kind,
    verbs,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
    // What cannot be listed is not stored.
    ...(verbs.includes("list") ? { storageVersionHash: storageVersionHash(resource) } : {}),
  }
  const below = subresourcesOf(resource).map(({ name, kind, verbs: allowed }) => ({
    name: `${plural}/${name}`,
    singularName: "",
    namespaced,
    ...(kind === undefined || kind.version === "" ? {} : { group: kind.group, version: kind.version }),
    kind: kind?.kind ?? gvk.kind,
    verbs: allowed,
  }))
  return [main, ...below]
}

// The kinds served at this moment, by group and version in the real server's order: built-in groups first, as they are
// registered, then those of custom kinds by name; within a group, preferred versions first.

interface ServedVersion {
  readonly version: string
  /** Sorted by plural. */
  readonly resources: ReadonlyArray<Resource>
}

interface ServedGroup {
  /** The empty string for the core group. */
  readonly name: string
  /** The preferred one first; never empty. */
  readonly versions: ReadonlyArray<ServedVersion>
}

/** The core group is included even without kinds. */
const servedGroups = (registry: ResourceRegistry): ReadonlyArray<ServedGroup> => {
  const groups = new Map<string, Map<string, Resource[]>>([["", new Map([["v1", []]])]])
  const customNames = new Set<string>()
  for (const resource of registry.all()) {
    const { group, version } = resource.gvk
    if (resource.custom === true && !groups.has(group)) customNames.add(group)
    const versions = groups.get(group) ?? new Map<string, Resource[]>()
    groups.set(group, versions.set(version, [...(versions.get(version) ?? []), resource]))
  }
  const names = [...groups.keys()].filter((name) => !customNames.has(name))
  return [...names, ...[...customNames].sort()].map((name) => ({ name, versions: versionsOf(groups.get(name)) }))
}

const versionsOf = (versions: ReadonlyMap<string, ReadonlyArray<Resource>> = new Map()): ReadonlyArray<ServedVersion> =>
  Array.from(versions, ([version, resources]) => ({ version, resources: resources.toSorted(byPlural) })).sort(
    (left, right) => compareVersions(left.version, right.version),
  )

const byPlural = (left: Resource, right: Resource): number => (left.plural < right.plural ? -1 : 1)

/** A subresource as discovery describes it, besides its name. `kind` is absent if it is that of the resource. */
interface SubresourceDescription {
  readonly kind?: { readonly group: string; readonly version: string; readonly kind: string }
  readonly verbs: ReadonlyArray<string>
}

const changed = ["get", "patch", "update"]

const descriptions: Readonly<Record<Subresource, SubresourceDescription>> = {
  approval: { verbs: changed },
  binding: { kind: { group: "", version: "", kind: "Binding" }, verbs: ["create"] },
  eviction: { kind: { group: "policy", version: "v1", kind: "Eviction" }, verbs: ["create"] },
  finalize: { verbs: ["update"] },
  scale: { kind: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs: changed },
  status: { verbs: changed },
  token: { kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }, verbs: ["create"] },
}

/**
 * The served subresources in discovery's order: by name, but `status` first for custom kinds. Each has only verbs that
 * the kind itself has: the subresources of a read-only kind are read-only as well.
 */
const subresourcesOf = (resource: Resource): ReadonlyArray<SubresourceDescription & { readonly name: Subresource }> => {
  const names = [...(resource.subresources ?? [])].sort()
  if (resource.custom === true) names.reverse()
  const described = names.map((name) => ({
    name,
    ...descriptions[name],
    verbs: descriptions[name].verbs.filter((verb) => verbsOf(resource).includes(verb)),
  }))
  return described.filter(({ verbs }) => verbs.length > 0)
}

/** All verbs of a custom kind, in the server's order. */
const customVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

const listedVerbs = ({ verbs, custom }: Resource): ReadonlyArray<string> =>
  verbs ?? (custom === true ? customVerbs : allVerbs)

const singularOf = ({ singular, gvk }: Resource): string => singular ?? gvk.kind.toLowerCase()

/** First 8 bytes of SHA-256 over `group/version/kind` as stored: the real server's rule. */
const storageVersionHash = ({ gvk, storedAs, storageVersion }: Resource): string => {
  const { group, version: own, kind } = storedAs?.gvk ?? gvk
  const version = storageVersion ?? own
  return hash("sha256", `${group}/${version}/${kind}`, "buffer").subarray(0, 8).toString("base64")
}
