/** The kinds that a CustomResourceDefinition defines, one for every served version. */

import { list, member, text } from "../kinds/json-member.ts"
import type { PrinterColumn, Resource, ScalePaths, StoredAs } from "../kinds/resources.ts"
import type { CustomKind } from "./openapi-document.ts"
import type { StructuralSchema } from "./structural-schema.ts"

/** One version of a custom kind. */
export interface DefinedKind {
  readonly resource: Resource
  /** Absent for a version without a schema, which takes any fields. */
  readonly schema: StructuralSchema | undefined
  readonly listKind: string
}

/**
 * The kinds of a CustomResourceDefinition, the stored version first. Empty for a definition without a version that is
 * both served and stored. Never throws: members of a wrong type count as absent.
 */
export const definedKinds = (definition: unknown): ReadonlyArray<DefinedKind> => {
  const spec = member(definition, "spec")
  const versions = list(spec, "versions")
  const stored = versions.find((version) => member(version, "storage") === true)
  if (stored === undefined) return []
  const served = versions.filter((version) => member(version, "served") === true && version !== stored)
  // Objects are kept in the stored version, even if it is not served.
  return [stored, ...served].map((version) => definedKind(spec, version, stored))
}

/** The part of a kind that its OpenAPI document shows. */
export const publishedKind = ({ resource, schema, listKind }: DefinedKind): CustomKind => {
  const { gvk, plural, namespaced, subresources = [] } = resource
  const below = subresources.filter((name) => name === "status" || name === "scale")
  return { gvk, plural, listKind, namespaced, schema, subresources: below }
}

const definedKind = (spec: unknown, version: unknown, stored: unknown): DefinedKind => {
  const names = member(spec, "names")
  const group = text(spec, "group")
  const kind = text(names, "kind")
  const gvk = { group, version: text(version, "name"), kind }
  const schema = member(version, "schema", "openAPIV3Schema") as StructuralSchema | undefined
  const scale = member(version, "subresources", "scale")
  const subresources = [
    ...(member(version, "subresources", "status") === undefined ? [] : (["status"] as const)),
    ...(scale === undefined ? [] : (["scale"] as const)),
  ]
  const shortNames = texts(names, "shortNames")
  const categories = texts(names, "categories")
  const columns = list(version, "additionalPrinterColumns") as ReadonlyArray<PrinterColumn>
  const selectable = list(version, "selectableFields").map((field) => text(field, "jsonPath").replace(/^\./, ""))
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
    ...(columns.length === 0 ? {} : { printerColumns: columns }),
    ...(member(version, "deprecated") === true ? { deprecationWarning: deprecationOf(spec, version) } : {}),
    ...(selectable.length === 0 ? {} : { selectableFields: selectable }),
    ...(version === stored ? {} : { storedAs: renamed(group, kind, text(version, "name"), text(stored, "name")) }),
  }
  return { resource, schema, listKind: text(names, "listKind") || `${kind}List` }
}

const texts = (value: unknown, key: string): ReadonlyArray<string> =>
  list(value, key).filter((item) => typeof item === "string")

/**
 * The definition's own text, or else the server's, which names the best version that is newer and not deprecated
 * itself.
 */
const deprecationOf = (spec: unknown, version: unknown): string => {
  const given = member(version, "deprecationWarning")
  if (typeof given === "string") return given
  const [group, kind, name] = [text(spec, "group"), text(spec, "names", "kind"), text(version, "name")]
  const [better] = list(spec, "versions")
    .filter((other) => member(other, "served") === true && member(other, "deprecated") !== true)
    .map((other) => text(other, "name"))
    .filter((other) => compareVersions(other, name) < 0)
    .sort(compareVersions)
  const deprecated = `${group}/${name} ${kind} is deprecated`
  return better === undefined ? deprecated : `${deprecated}; use ${group}/${better} ${kind}`
}

const scalePathsOf = (scale: unknown): ScalePaths => {
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

const stages = ["alpha", "beta", undefined]

/** Negative when the first is preferred: `v2` before `v1` before `v1beta2` before `v1alpha1` before `foo`. */
export const compareVersions = (left: string, right: string): number => {
  const [first, second] = [parsedVersion(left), parsedVersion(right)]
  if (first === undefined || second === undefined) {
    if (first === second) return left < right ? -1 : 1
    return first === undefined ? 1 : -1
  }
  return second.stage - first.stage || second.major - first.major || second.minor - first.minor
}

const parsedVersion = (version: string) => {
  const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version)
  if (match === null) return undefined
  return { major: Number(match[1]), stage: stages.indexOf(match[2]), minor: Number(match[3] ?? "0") }
}
