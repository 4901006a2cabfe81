/** Validation of every kind's `metadata`, at creations and updates, after apimachinery's objectmeta.go; and of label selectors. */

import { tooLong } from "../../apiserver/index.ts"
import { names, selectorMatches } from "../../kube/offline.ts"
import { labels, sortedEntries } from "./checks.ts"
import { isAbsent, isEmptyMap, isSame, items, list, number, text, texts } from "./fields.ts"
import type { Fields } from "./kind-rules.ts"
import { type Check, Place, type RulesByType } from "./type-rules.ts"

/** Of all keys and values together. */
const annotationBytes = 256 * 1024

/** Annotations of an object or of a template. */
export const annotations: Check = (value, at) => {
  let bytes = 0
  for (const [key, given] of sortedEntries(value)) {
    at.complain(key, names.qualifiedNameComplaints(key.toLowerCase()))
    bytes += Buffer.byteLength(key) + (typeof given === "string" ? Buffer.byteLength(given) : 0)
  }
  if (bytes > annotationBytes) at.add(tooLong(at.field, annotationBytes))
}

const checkOwners = (metadata: Fields, at: Place): void => {
  let controller: string | undefined
  for (const owner of items(metadata, "ownerReferences")) {
    const [apiVersion, kind, name] = [text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name")]
    if ((apiVersion.split("/").at(-1) ?? "") === "")
      at.at("apiVersion").invalid(apiVersion, "version must not be empty")
    for (const key of ["kind", "name", "uid"]) if (text(owner, key) === "") at.at(key).invalid("", "must not be empty")
    // Events expire: everything they owned would be deleted with them after an hour.
    if (apiVersion === "v1" && kind === "Event") at.invalid(owner, "/v1, Kind=Event is disallowed from being an owner")
    if (owner.controller !== true) continue
    const current = `${kind}/${name}`
    if (controller !== undefined)
      at.invalid(
        metadata.ownerReferences,
        'Only one reference can have Controller set to true. Found "true" in references for ' +
          `${controller} and ${current}`,
      )
    controller ??= current
  }
}

const checkFinalizers = (metadata: Fields, at: Place): void => {
  const finalizers = texts(metadata, "finalizers")
  for (const name of finalizers) at.complain(name, names.qualifiedNameComplaints(name))
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    at.invalid(finalizers, "finalizer orphan and foregroundDeletion cannot be both set")
}

/** Finalizers that need no domain. */
const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", "orphan", "foregroundDeletion"])

/** Checks that a finalizer is known, which built-in kinds require in addition to its format and custom ones do not. */
export const finalizer: Check = (name, at) => {
  if (typeof name === "string" && !name.includes("/") && !standardFinalizers.has(name))
    at.invalid(name, "name is neither a standard finalizer name nor is it fully qualified")
}

/** `name` checks the kind's format of names; a generateName may end in dashes. */
export const checkMetadata = (
  metadata: Fields,
  namespaced: boolean,
  name: (name: string) => names.Complaints,
  at: Place,
): void => {
  const prefix = text(metadata, "generateName")
  if (prefix !== "") at.at("generateName").complain(prefix, name(withoutTrailingDash(prefix)))
  const given = text(metadata, "name")
  if (given === "") at.at("name").required("name or generateName is required")
  else at.at("name").complain(given, name(given))
  const namespace = text(metadata, "namespace")
  if (!namespaced) {
    if (namespace !== "") at.at("namespace").forbidden("not allowed on this type")
  } else if (namespace === "") at.at("namespace").required()
  else at.at("namespace").complain(namespace, names.labelComplaints(namespace))
  const generation = number(metadata, "generation") ?? 0
  if (generation < 0) at.at("generation").invalid(generation, "must be greater than or equal to 0")
  labels(metadata.labels, at.at("labels"), metadata)
  annotations(metadata.annotations, at.at("annotations"), metadata)
  checkOwners(metadata, at.at("ownerReferences"))
  checkFinalizers(metadata, at.at("finalizers"))
}

/** The server replaces the dash and the character before it by one letter; a lone dash stays. */
const withoutTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -2)}a` : prefix

const unchangeable = "name namespace uid creationTimestamp deletionTimestamp deletionGracePeriodSeconds".split(" ")

/** The storage layer's checks of every update, after the server's own fields have been copied. */
export const checkMetadataUpdate = (metadata: Fields, old: Fields, namespaced: boolean, at: Place): void => {
  checkMetadata(metadata, namespaced, names.pathSegmentComplaints, at)
  if (!isAbsent(old.deletionTimestamp)) checkNoNewFinalizers(metadata, old, at.at("finalizers"))
  if (text(metadata, "resourceVersion") === "") at.at("resourceVersion").invalid("", "must be specified for an update")
  const generation = number(metadata, "generation") ?? 0
  if (generation < (number(old, "generation") ?? 0)) at.at("generation").invalid(generation, "must not be decremented")
  for (const key of unchangeable) if (!isSame(metadata[key], old[key])) at.at(key).immutable(metadata[key])
}

const checkNoNewFinalizers = (metadata: Fields, old: Fields, at: Place): void => {
  const known = new Set(texts(old, "finalizers"))
  const added = texts(metadata, "finalizers").filter((name) => !known.has(name))
  if (added.length === 0) return
  const names = [...new Set(added)].sort().join(", ")
  at.forbidden(`no new finalizers can be added if the object is being deleted, found new finalizers ${names}`)
}

const checkRequirement: Check = (_term, at, term) => {
  const operator = text(term, "operator")
  const values = list(term, "values")
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) at.at("values").required("must be specified when `operator` is 'In' or 'NotIn'")
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      at.at("values").forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
  } else at.at("operator").invalid(operator, "not a valid selector operator")
  at.at("key").complain(text(term, "key"), names.qualifiedNameComplaints(text(term, "key")))
  for (const [index, value] of values.entries())
    if (typeof value === "string") at.at("values", index).complain(value, names.labelValueComplaints(value))
}

/** A label selector is checked wherever there is one. */
export const types: RulesByType = {
  "meta/v1.LabelSelectorRequirement": { checks: { self: checkRequirement } },
}

/** Whether a selector has no requirements. */
export const isEmptySelector = (selector: Fields): boolean =>
  isEmptyMap(selector.matchLabels) && list(selector, "matchExpressions").length === 0

/** Whether the server could build a matcher from it. */
export const isUsable = (selector: Fields | undefined): boolean => {
  const root = new Place([])
  if (selector !== undefined) labels(selector.matchLabels, root, selector)
  for (const term of items(selector, "matchExpressions")) checkRequirement(term, root, term)
  return root.errors.length === 0
}

/** An absent selector matches nothing, an empty one everything. */
export const matches = (selector: Fields | undefined, given: Fields | undefined): boolean =>
  selectorMatches(selector, given)
