/**
 * The discovery documents, with the keys and in the order of Kubernetes 1.34.4. The aggregated form is not served: a
 * client that asks for it gets the plain one, as from a server before 1.26.
 */

import { hash } from "node:crypto"
import { apiVersionOf } from "../kube/gvk.ts"
import { type Failure, pageNotFound, unknownResource } from "./failure.ts"
import { type Resource, type ResourceRegistry, verbsOf } from "./resources.ts"
import type { Route } from "./router.ts"

export type DiscoveryAnswer =
  | { readonly type: "json"; readonly document: object }
  | { readonly type: "plain"; readonly text: string }
  | Failure

/** What every path that is no resource answers. `address` is host:port as the client sees it. */
export const answerDiscovery = (route: Route, registry: ResourceRegistry, address: string): DiscoveryAnswer => {
  switch (route.type) {
    case "version":
      return { type: "json", document: versionInformation }
    case "health":
      return { type: "plain", text: "ok" }
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

/** A path inside a group that exists is answered in JSON, one inside a group that does not by the mux. */
export const missingIn = (registry: ResourceRegistry, group: string): Failure =>
  group === "" || groupsOf(registry).has(group) ? unknownResource : pageNotFound

const found = (document: object | undefined, missing: Failure): DiscoveryAnswer =>
  document === undefined ? missing : { type: "json", document }

const versionInformation = {
  major: "1",
  minor: "34",
  emulationMajor: "1",
  emulationMinor: "34",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "33",
  gitVersion: "v1.34.4+sandbox",
  gitCommit: "",
  gitTreeState: "",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "",
}

/** `/api` */
const coreVersions = (address: string): object => ({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
})

/** `/apis` */
const groupList = (registry: ResourceRegistry): object => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: [...groupsOf(registry)].map(([name, versions]) => group(name, versions)),
})

/** `/apis/<group>`, `undefined` for a group without kinds. */
const groupDocument = (registry: ResourceRegistry, name: string): object | undefined => {
  const versions = groupsOf(registry).get(name)
  return versions === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...group(name, versions) }
}

/** `/api/v1` and `/apis/<group>/<version>`; `undefined` for a version without kinds. */
const resourceList = (registry: ResourceRegistry, name: string, version: string): object | undefined => {
  const resources = registry.all().filter(({ gvk }) => gvk.group === name && gvk.version === version)
  const core = name === "" && version === "v1"
  if (resources.length === 0 && !core) return undefined
  return {
    kind: "APIResourceList",
    // The core group's own list is the one document without an apiVersion.
    ...(core ? {} : { apiVersion: "v1" }),
    groupVersion: apiVersionOf({ group: name, version, kind: "" }),
    resources: resources.flatMap(entries).sort((left, right) => (left.name < right.name ? -1 : 1)),
  }
}

const groupsOf = (registry: ResourceRegistry): Map<string, Set<string>> => {
  const groups = new Map<string, Set<string>>()
  for (const { gvk } of registry.all()) {
    if (gvk.group === "") continue
    const versions = groups.get(gvk.group) ?? new Set()
    groups.set(gvk.group, versions.add(gvk.version))
  }
  return groups
}

const group = (name: string, versions: ReadonlySet<string>): object => {
  const list = Array.from(versions, (version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: list, preferredVersion: list[0] }
}

const entries = (resource: Resource): ReadonlyArray<{ readonly name: string }> => {
  const { gvk, plural, namespaced, shortNames, categories, subresources = [] } = resource
  const main = {
    name: plural,
    singularName: gvk.kind.toLowerCase(),
    namespaced,
    kind: gvk.kind,
    verbs: verbsOf(resource),
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
    storageVersionHash: storageVersionHash(resource),
  }
  const below = subresources.map((subresource) => ({
    name: `${plural}/${subresource}`,
    singularName: "",
    namespaced,
    ...(subresource === "scale" ? { group: "autoscaling", version: "v1", kind: "Scale" } : { kind: gvk.kind }),
    verbs: ["get", "patch", "update"],
  }))
  return [main, ...below]
}

/** First 8 bytes of SHA-256 over `group/version/kind`, the real server's rule (it takes the storage version). */
const storageVersionHash = ({ gvk }: Resource): string =>
  hash("sha256", `${gvk.group}/${gvk.version}/${gvk.kind}`, "buffer").subarray(0, 8).toString("base64")
