/** Discovery one document at a time: the groups, the versions of one group, the resources of one version. */

import { apiVersionOf } from "../../kube/gvk.ts"
import type { Resource, ResourceRegistry } from "../kinds/resources.ts"
import {
  listedVerbs,
  type ServedGroup,
  type ServedVersion,
  servedGroups,
  singularOf,
  storageVersionHash,
  subresourcesOf,
} from "./served-groups.ts"

/** `/api`. `address` is host:port as the client sees it. */
export const coreVersions = (address: string): object => ({
  kind: "APIVersions",
  versions: ["v1"],
  serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: address }],
})

/** `/apis` */
export const groupList = (registry: ResourceRegistry): object => ({
  kind: "APIGroupList",
  apiVersion: "v1",
  groups: servedGroups(registry)
    .filter(({ name }) => name !== "")
    .map(group),
})

/** `/apis/<group>`, `undefined` for a group without kinds. */
export const groupDocument = (registry: ResourceRegistry, wanted: string): object | undefined => {
  const found = servedGroups(registry).find(({ name }) => name !== "" && name === wanted)
  return found === undefined ? undefined : { kind: "APIGroup", apiVersion: "v1", ...group(found) }
}

/** `/api/v1` and `/apis/<group>/<version>`; `undefined` for a version without kinds. */
export const resourceList = (registry: ResourceRegistry, name: string, version: string): object | undefined => {
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
