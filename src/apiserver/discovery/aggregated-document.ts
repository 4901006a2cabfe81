/**
 * Discovery in one document: `APIGroupDiscoveryList` of apidiscovery.k8s.io/v2. Its ETag is the SHA-512 of the list's
 * items, so it changes only when a kind is added or removed.
 */

import { hash } from "node:crypto"
import type { Resource, ResourceRegistry } from "../kinds/resources.ts"
import { listedVerbs, servedGroups, singularOf, subresourcesOf } from "./served-groups.ts"

interface AggregatedDocument {
  readonly json: string
  /** With its quotes. */
  readonly etag: string
}

export const aggregatedContentType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/** `/api` describes the core group, `/apis` all others. */
export const aggregatedDocument = (registry: ResourceRegistry, core: boolean): AggregatedDocument => {
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
