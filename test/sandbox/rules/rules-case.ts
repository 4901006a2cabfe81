/**
 * One request to the real server and to our rules: record-defaults.ts sends it to a cluster and stores the response,
 * recorded-rules.test.ts compares ours with it.
 */

import type { Fields } from "../../../src/sandbox/rules/kind-rules.ts"

/** One request. Without `update` it is a create; with it, a replacement of the object created from `object`. */
export interface RulesCase {
  readonly name: string
  /** `apps/v1/deployments`; the core group is `v1/pods`. */
  readonly path: string
  readonly object: Fields
  /** `change` is a merge patch of the object as it was sent, or as the server stored it. */
  readonly update?: { readonly subresource: "" | "status"; readonly base: "sent" | "stored"; readonly change: Fields }
}

/** The namespace of namespaced objects. */
export const namespace = "kubereel-rules"

/** Of the kinds that the recorder defines. */
export const customGroup = "rules.kubereel.dev"

/** Kinds without a namespace. */
export const clusterScoped: ReadonlySet<string> = new Set([
  "namespaces",
  "nodes",
  "persistentvolumes",
  "clusterroles",
  "clusterrolebindings",
  "priorityclasses",
  "storageclasses",
  "csidrivers",
  "csinodes",
  "volumeattachments",
  "customresourcedefinitions",
])

/** The definitions of the custom kinds: doors have a status that is an endpoint, windows have not. */
export const customDefinitions = (
  [
    ["doors", "Door", { status: {} }],
    ["windows", "Window", {}],
  ] as const
).map(([plural, kind, subresources]) => {
  const openAPIV3Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true }
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema }, subresources }
  return {
    metadata: { name: `${plural}.${customGroup}` },
    spec: { group: customGroup, names: { plural, kind }, scope: "Namespaced", versions: [version] },
  }
})

/** The path of a collection on a server. */
export const collectionOf = (path: string): string => {
  const parts = path.split("/")
  const plural = parts.at(-1) ?? ""
  const root = parts.length === 2 ? `/api/${parts[0]}` : `/apis/${parts[0]}/${parts[1]}`
  return clusterScoped.has(plural) ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`
}

/** Custom objects need apiVersion and kind; for built-in kinds the path is enough. */
const typed = (path: string, object: Fields): Fields => {
  const named = { metadata: { name: "web" }, ...object }
  if (!path.startsWith(customGroup)) return named
  return { apiVersion: `${customGroup}/v1`, kind: path.endsWith("doors") ? "Door" : "Window", ...named }
}

export const create = (path: string, name: string, object: Fields): RulesCase => ({
  name,
  path,
  object: typed(path, object),
})

/** Replaced as by a client that keeps the manifest. */
export const update = (
  path: string,
  name: string,
  object: Fields,
  change: Fields,
  subresource: "" | "status" = "",
): RulesCase => ({
  name,
  path,
  object: typed(path, object),
  update: { subresource, base: "sent", change },
})

/** Replaced as by a client that reads, modifies and writes. */
export const modify = (...parameters: Parameters<typeof update>): RulesCase => {
  const { update: plain, ...rest } = update(...parameters)
  return plain === undefined ? rest : { ...rest, update: { ...plain, base: "stored" } }
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** JSON merge patch. */
export const merged = (base: Fields, change: Fields): Fields => {
  const result: Fields = { ...base }
  for (const [key, value] of Object.entries(change)) {
    const present = result[key]
    if (value === null) delete result[key]
    else result[key] = isFields(value) && isFields(present) ? merged(present, value) : value
  }
  return result
}
