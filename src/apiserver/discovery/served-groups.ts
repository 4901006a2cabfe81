/**
 * The kinds served at this moment, by group and version in the real server's order: built-in groups first, as they are
 * registered, then those of custom kinds by name; within a group, preferred versions first.
 */

import { hash } from "node:crypto"
import { compareVersions } from "../kinds/definition.ts"
import { allVerbs, type Resource, type ResourceRegistry, type Subresource, verbsOf } from "../kinds/resources.ts"

export interface ServedVersion {
  readonly version: string
  /** Sorted by plural. */
  readonly resources: ReadonlyArray<Resource>
}

export interface ServedGroup {
  /** The empty string for the core group. */
  readonly name: string
  /** The preferred one first; never empty. */
  readonly versions: ReadonlyArray<ServedVersion>
}

/** The core group is included even without kinds. */
export const servedGroups = (registry: ResourceRegistry): ReadonlyArray<ServedGroup> => {
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

const ofCore = (kind: string): { readonly group: string; readonly version: string; readonly kind: string } => ({
  group: "",
  version: "",
  kind,
})
const proxied = ["create", "delete", "get", "patch", "update"]
const changed = ["get", "patch", "update"]

const descriptions: Readonly<Record<Subresource, SubresourceDescription>> = {
  approval: { verbs: changed },
  attach: { kind: ofCore("PodAttachOptions"), verbs: ["create", "get"] },
  binding: { kind: ofCore("Binding"), verbs: ["create"] },
  ephemeralcontainers: { verbs: changed },
  eviction: { kind: { group: "policy", version: "v1", kind: "Eviction" }, verbs: ["create"] },
  exec: { kind: ofCore("PodExecOptions"), verbs: ["create", "get"] },
  finalize: { verbs: ["update"] },
  log: { verbs: ["get"] },
  portforward: { kind: ofCore("PodPortForwardOptions"), verbs: ["create", "get"] },
  proxy: { verbs: proxied },
  resize: { verbs: changed },
  scale: { kind: { group: "autoscaling", version: "v1", kind: "Scale" }, verbs: changed },
  status: { verbs: changed },
  token: { kind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" }, verbs: ["create"] },
}

/**
 * The served subresources in discovery's order: by name, but `status` first for custom kinds. Each has only verbs that
 * the kind itself has: the subresources of a read-only kind are read-only as well.
 */
export const subresourcesOf = (
  resource: Resource,
): ReadonlyArray<SubresourceDescription & { readonly name: Subresource }> => {
  const names = [...(resource.subresources ?? [])].sort()
  if (resource.custom === true) names.reverse()
  const described = names.map((name) => ({
    name,
    ...descriptions[name],
    ...(name === "proxy" ? { kind: ofCore(`${resource.gvk.kind}ProxyOptions`) } : {}),
    verbs: descriptions[name].verbs.filter((verb) => verbsOf(resource).includes(verb)),
  }))
  return described.filter(({ verbs }) => verbs.length > 0)
}

/** All verbs of a custom kind, in the server's order. */
const customVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]

export const listedVerbs = ({ verbs, custom }: Resource): ReadonlyArray<string> =>
  verbs ?? (custom === true ? customVerbs : allVerbs)

export const singularOf = ({ singular, gvk }: Resource): string => singular ?? gvk.kind.toLowerCase()

/** First 8 bytes of SHA-256 over `group/version/kind` as stored: the real server's rule. */
export const storageVersionHash = ({ gvk, storedAs, storageVersion }: Resource): string => {
  const { group, version: own, kind } = storedAs?.gvk ?? gvk
  const version = storageVersion ?? own
  return hash("sha256", `${group}/${version}/${kind}`, "buffer").subarray(0, 8).toString("base64")
}
