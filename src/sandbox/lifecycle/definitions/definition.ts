/** A CustomResourceDefinition, read: the kinds it asks for, one for every version that is served. */

import { compareVersions } from "../../../apiserver/discovery/served-groups.ts"
import type { Resource, ScalePaths, StoredAs } from "../../../apiserver/kinds/resources.ts"
import type { StructuralSchema } from "../../../apiserver/schema/custom/structural-schema.ts"
import { child, items, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"

export interface DefinedKind {
  readonly resource: Resource
  readonly schema: StructuralSchema | undefined
  readonly listKind: string
}

/** The stored version first. Empty for a definition without a version that is both served and stored. */
export const definedKinds = (definition: MutableObject): ReadonlyArray<DefinedKind> => {
  const spec = child(definition, "spec")
  const versions = items(spec, "versions")
  const stored = versions.find((version) => version.storage === true)
  if (stored === undefined) return []
  const served = versions.filter((version) => version.served === true && version !== stored)
  // The stored version keeps the objects, whether clients may ask for it or not.
  return [stored, ...served].map((version) => definedKind(spec ?? {}, version, stored))
}

const definedKind = (spec: Fields, version: Fields, stored: Fields): DefinedKind => {
  const names = child(spec, "names")
  const group = text(spec, "group")
  const kind = text(names, "kind")
  const gvk = { group, version: text(version, "name"), kind }
  const schema = child(child(version, "schema"), "openAPIV3Schema") as StructuralSchema | undefined
  const scale = child(child(version, "subresources"), "scale")
  const subresources = [
    ...(child(version, "subresources")?.status === undefined ? [] : (["status"] as const)),
    ...(scale === undefined ? [] : (["scale"] as const)),
  ]
  const shortNames = texts(names, "shortNames")
  const categories = texts(names, "categories")
  const columns = items(version, "additionalPrinterColumns")
  const selectable = items(version, "selectableFields").map((field) => text(field, "jsonPath").replace(/^\./, ""))
  const resource: Resource = {
    gvk,
    plural: text(names, "plural"),
    singular: text(names, "singular") || kind.toLowerCase(),
    namespaced: text(spec, "scope") === "Namespaced",
    custom: true,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
    ...(scale === undefined ? {} : { scalePaths: scalePathsOf(scale) }),
    ...(columns.length === 0 ? {} : { printerColumns: columns as unknown as NonNullable<Resource["printerColumns"]> }),
    ...(version.deprecated === true ? { deprecationWarning: deprecationOf(spec, version) } : {}),
    ...(selectable.length === 0 ? {} : { selectableFields: selectable }),
    ...(version === stored ? {} : { storedAs: renamed(group, kind, text(version, "name"), text(stored, "name")) }),
  }
  return { resource, schema, listKind: text(names, "listKind") || `${kind}List` }
}

/** The definition's words, or else the server's own: they name the best version that is newer and not deprecated itself. */
const deprecationOf = (spec: Fields, version: Fields): string => {
  if (typeof version.deprecationWarning === "string") return version.deprecationWarning
  const [group, kind, name] = [text(spec, "group"), text(child(spec, "names"), "kind"), text(version, "name")]
  const [better] = items(spec, "versions")
    .filter((other) => other.served === true && other.deprecated !== true)
    .map((other) => text(other, "name"))
    .filter((other) => compareVersions(other, name) < 0)
    .sort(compareVersions)
  const deprecated = `${group}/${name} ${kind} is deprecated`
  return better === undefined ? deprecated : `${deprecated}; use ${group}/${better} ${kind}`
}

const scalePathsOf = (scale: Fields): ScalePaths => {
  const labelSelector = text(scale, "labelSelectorPath")
  return {
    specReplicas: text(scale, "specReplicasPath"),
    statusReplicas: text(scale, "statusReplicasPath"),
    ...(labelSelector === "" ? {} : { labelSelector }),
  }
}

/** The conversion `None`: the same object under another apiVersion. */
const renamed = (group: string, kind: string, version: string, stored: string): StoredAs => ({
  gvk: { group, version: stored, kind },
  toStored: (object) => ({ ...object, apiVersion: `${group}/${stored}` }),
  fromStored: (object) => ({ ...object, apiVersion: `${group}/${version}` }),
})
