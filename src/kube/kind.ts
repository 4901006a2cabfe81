/** Kinds as requests need them, and the paths of their objects. */

import type { GroupVersionKind } from "./gvk.ts"

/** A kind and where its objects are. An `ApiResource` of discovery is one. */
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
 * The path of a collection: in one namespace, or in all if none is given. For a cluster-scoped kind the namespace is ignored.
 */
export const collectionPath = ({ gvk, plural, namespaced }: Kind, namespace?: string): string => {
  const isInNamespace = namespaced && namespace !== undefined && namespace !== ""
  const scope = isInNamespace ? `/namespaces/${encodeURIComponent(namespace)}` : ""
  return `${groupVersionPath(gvk)}${scope}/${encodeURIComponent(plural)}`
}

/** The path of one object, or of one of its subresources. */
export const objectPath = (kind: Kind, namespace: string | undefined, name: string, subresource?: string): string =>
  `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`
