/** Validation of every kind's `metadata` at creations and updates; after apimachinery's objectmeta.go. */

import {
  type Errors,
  forbidden,
  immutable,
  invalid,
  invalidEach,
  required,
  tooLong,
} from "../../../apiserver/answers/field-error.ts"
import {
  type Complaints,
  labelComplaints,
  labelValueComplaints,
  pathSegmentComplaints,
  qualifiedNameComplaints,
} from "../../../kube/names.ts"
import { child, isAbsent, isSame, items, number, text, texts } from "../fields.ts"
import type { Fields } from "../kind-rules.ts"

/** Returns what is wrong with a name. */
export type NameFormat = (name: string) => Complaints

/** Of all keys and values together. */
const annotationBytes = 256 * 1024

/**
 * Keys in alphabetical order, while the server uses Go's random one: with two bad labels its message varies from call
 * to call, ours does not.
 */
const sortedEntries = (map: Fields | undefined): ReadonlyArray<readonly [string, unknown]> =>
  map === undefined ? [] : Object.entries(map).sort(([left], [right]) => (left < right ? -1 : 1))

export const checkLabels = (labels: Fields | undefined, field: string, errors: Errors): void => {
  for (const [key, value] of sortedEntries(labels)) {
    errors.push(...invalidEach(field, key, qualifiedNameComplaints(key)))
    if (typeof value === "string") errors.push(...invalidEach(field, value, labelValueComplaints(value)))
  }
}

export const checkAnnotations = (annotations: Fields | undefined, field: string, errors: Errors): void => {
  let bytes = 0
  for (const [key, value] of sortedEntries(annotations)) {
    errors.push(...invalidEach(field, key, qualifiedNameComplaints(key.toLowerCase())))
    bytes += Buffer.byteLength(key) + (typeof value === "string" ? Buffer.byteLength(value) : 0)
  }
  if (bytes > annotationBytes) errors.push(tooLong(field, annotationBytes))
}

const checkOwners = (metadata: Fields, field: string, errors: Errors): void => {
  let controller: string | undefined
  for (const owner of items(metadata, "ownerReferences")) {
    const { apiVersion, kind, name, uid } = {
      apiVersion: text(owner, "apiVersion"),
      kind: text(owner, "kind"),
      name: text(owner, "name"),
      uid: text(owner, "uid"),
    }
    if ((apiVersion.split("/").at(-1) ?? "") === "")
      errors.push(invalid(`${field}.apiVersion`, apiVersion, "version must not be empty"))
    if (kind === "") errors.push(invalid(`${field}.kind`, kind, "must not be empty"))
    if (name === "") errors.push(invalid(`${field}.name`, name, "must not be empty"))
    if (uid === "") errors.push(invalid(`${field}.uid`, uid, "must not be empty"))
    // Events expire: everything they owned would be deleted with them after an hour.
    if (apiVersion === "v1" && kind === "Event")
      errors.push(invalid(field, owner, "/v1, Kind=Event is disallowed from being an owner"))
    if (owner.controller !== true) continue
    const current = `${kind}/${name}`
    if (controller === undefined) controller = current
    else
      errors.push(
        invalid(
          field,
          metadata.ownerReferences,
          'Only one reference can have Controller set to true. Found "true" in references for ' +
            `${controller} and ${current}`,
        ),
      )
  }
}

const checkFinalizers = (metadata: Fields, field: string, errors: Errors): void => {
  const finalizers = texts(metadata, "finalizers")
  for (const name of finalizers) errors.push(...invalidEach(field, name, qualifiedNameComplaints(name)))
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    errors.push(invalid(field, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
}

/** Finalizers that need no domain. */
const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", "orphan", "foregroundDeletion"])

/** Checks that finalizers are known, which built-in kinds require in addition to their format and custom ones do not. */
export const checkFinalizersKnown = (metadata: Fields, errors: Errors): void => {
  for (const [index, name] of texts(metadata, "finalizers").entries())
    if (!name.includes("/") && !standardFinalizers.has(name))
      errors.push(
        invalid(
          `metadata.finalizers[${index}]`,
          name,
          "name is neither a standard finalizer name nor is it fully qualified",
        ),
      )
}

/** `name` checks the kind's format of names; a generateName may end in dashes. */
export const checkMetadata = (metadata: Fields, namespaced: boolean, name: NameFormat, errors: Errors): void => {
  const prefix = text(metadata, "generateName")
  if (prefix !== "") errors.push(...invalidEach("metadata.generateName", prefix, name(withoutTrailingDash(prefix))))
  const given = text(metadata, "name")
  if (given === "") errors.push(required("metadata.name", "name or generateName is required"))
  else errors.push(...invalidEach("metadata.name", given, name(given)))
  const namespace = text(metadata, "namespace")
  if (!namespaced) {
    if (namespace !== "") errors.push(forbidden("metadata.namespace", "not allowed on this type"))
  } else if (namespace === "") errors.push(required("metadata.namespace"))
  else errors.push(...invalidEach("metadata.namespace", namespace, labelComplaints(namespace)))
  const generation = number(metadata, "generation") ?? 0
  if (generation < 0) errors.push(invalid("metadata.generation", generation, "must be greater than or equal to 0"))
  checkLabels(child(metadata, "labels"), "metadata.labels", errors)
  checkAnnotations(child(metadata, "annotations"), "metadata.annotations", errors)
  checkOwners(metadata, "metadata.ownerReferences", errors)
  checkFinalizers(metadata, "metadata.finalizers", errors)
}

/** The server replaces the dash and the character before it by one letter; a lone dash stays. */
const withoutTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix

const unchangeable = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const

/** Checks an update, after the server's own fields have been copied; `resourceVersion` must be present. */
const checkMetadataUpdate = (metadata: Fields, old: Fields, errors: Errors): void => {
  if (!isAbsent(old.deletionTimestamp)) checkNoNewFinalizers(metadata, old, errors)
  if (text(metadata, "resourceVersion") === "")
    errors.push(invalid("metadata.resourceVersion", "", "must be specified for an update"))
  const generation = number(metadata, "generation") ?? 0
  if (generation < (number(old, "generation") ?? 0))
    errors.push(invalid("metadata.generation", generation, "must not be decremented"))
  for (const key of unchangeable)
    if (!isSame(metadata[key], old[key])) errors.push(immutable(`metadata.${key}`, metadata[key]))
  checkLabels(child(metadata, "labels"), "metadata.labels", errors)
  checkAnnotations(child(metadata, "annotations"), "metadata.annotations", errors)
  checkOwners(metadata, "metadata.ownerReferences", errors)
}

const checkNoNewFinalizers = (metadata: Fields, old: Fields, errors: Errors): void => {
  const known = new Set(texts(old, "finalizers"))
  const added = texts(metadata, "finalizers").filter((name) => !known.has(name))
  if (added.length === 0) return
  const names = [...new Set(added)].sort().join(", ")
  errors.push(
    forbidden(
      "metadata.finalizers",
      `no new finalizers can be added if the object is being deleted, found new finalizers ${names}`,
    ),
  )
}

/** The storage layer's checks of every update, in addition to the kind's own. */
export const checkCommonUpdate = (metadata: Fields, old: Fields, namespaced: boolean, errors: Errors): void => {
  checkMetadata(metadata, namespaced, pathSegmentComplaints, errors)
  checkMetadataUpdate(metadata, old, errors)
}
