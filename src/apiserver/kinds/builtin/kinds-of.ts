/** Shorthands that describe the kinds of one group and version. */

import type { Resource } from "../resources.ts"

/** The members that do not follow from the group, the scope and the names. */
type Rest = Omit<Resource, "gvk" | "plural" | "namespaced">

type Describe = (kind: string, plural: string, rest?: Rest) => Resource

export const kindsOf = (
  group: string,
  version: string,
): { readonly namespaced: Describe; readonly clusterScoped: Describe } => {
  const describe =
    (isNamespaced: boolean): Describe =>
    (kind, plural, rest = {}) => ({ gvk: { group, version, kind }, plural, namespaced: isNamespaced, ...rest })
  return { namespaced: describe(true), clusterScoped: describe(false) }
}

/** The zero value of a pod template, part of many kinds' zero values. */
export const podTemplate = '"template":{"metadata":{},"spec":{"containers":null}}'
