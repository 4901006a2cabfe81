/** Kinds as requests need them: from a kind to the paths of its objects. */

import type { GroupVersionKind } from "./gvk.ts"

/** Where the objects of a kind are. An `ApiResource` of discovery is one. */
export interface Kind {
  readonly gvk: GroupVersionKind
  /** Plural, lower case: `deployments`. */
  readonly plural: string
  readonly namespaced: boolean
}

/** `/api/v1` for the core group, `/apis/apps/v1` for others. */
export const groupVersionPath = ({ group, version }: Pick<GroupVersionKind, "group" | "version">): string =>
  group === ""
    ? `/api/${encodeURIComponent(version)}`
    : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`

/**
 * The path of a collection: of one namespace, or of all if none is given. A namespace given for a cluster-scoped kind is
 * ignored, since its objects are in none.
 */
export const collectionPath = ({ gvk, plural, namespaced }: Kind, namespace?: string): string => {
  const isInNamespace = namespaced && namespace !== undefined && namespace !== ""
  const scope = isInNamespace ? `/namespaces/${encodeURIComponent(namespace)}` : ""
  return `${groupVersionPath(gvk)}${scope}/${encodeURIComponent(plural)}`
}

/** The path of one object, or of a subresource of it. */
export const objectPath = (kind: Kind, namespace: string | undefined, name: string, subresource?: string): string =>
  `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`
