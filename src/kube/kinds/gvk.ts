/**
 * Group, version and kind: Kubernetes' name of a type, and its spelling as one string in SimKube and here (`apps/v1.Deployment`, core group
 * `v1.Pod`).
 */

/** The name of a Kubernetes type. `group` is the empty string for the core group. */
export interface GroupVersionKind {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/**
 * Parses `group/version.kind` or `version.kind`; a leading `/` is accepted because SimKube accepts it (`/v1.Pod` is `v1.Pod`). Returns
 * `undefined` for anything else; the caller knows the text's origin and reports the error.
 */
export const parseGvk = (text: string): GroupVersionKind | undefined => {
  const match = /^(?:([^/]*)\/)?([^/.]+)\.([^/.]+)$/.exec(text)
  if (match === null) return undefined
  const [, group = "", version = "", kind = ""] = match
  return { group, version, kind }
}

/** The inverse of {@link parseGvk}: `apps/v1.Deployment`, or `v1.Pod` for the core group. */
export const formatGvk = (gvk: GroupVersionKind): string => `${apiVersionOf(gvk)}.${gvk.kind}`

/** The `apiVersion` that objects of this type carry: `apps/v1`, or `v1` for the core group. */
export const apiVersionOf = (gvk: GroupVersionKind): string =>
  gvk.group === "" ? gvk.version : `${gvk.group}/${gvk.version}`

// Kinds as requests need them, and the paths of their objects.

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
