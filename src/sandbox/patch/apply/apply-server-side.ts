/**
 * Server-side apply: a manager sends its configuration; the server merges it, removes what that manager no longer
 * applies and no other manager owns, and refuses if another manager's field would change without `force`.
 *
 * To be called where the real server does it: before admission and the kind's own rules. The result still lacks the
 * defaults of new fields, and may contain nulls and a `status` from the configuration. Entries of other versions of
 * the kind are compared in this version's schema (see track-update.ts). A Deployment of 4.9 kB costs some 50 µs, 160 µs
 * when a field is removed.
 */

import { memberOf } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import {
  isEqualJson,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonTypeOf,
  withMember,
} from "../json/json-value.ts"
import { type FieldChanges, fieldChanges } from "../managed-fields/field-changes.ts"
import {
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  leaf,
  union,
  withoutPaths,
} from "../managed-fields/field-set.ts"
import { fieldsOf } from "../managed-fields/fields-of.ts"
import {
  type FieldManager,
  inServerOrder,
  isEntryOf,
  type ManagedFields,
  type ManagedFieldsEntry,
  makeEntry,
  storedEntries,
  withFields,
} from "../managed-fields/managed-fields-entry.ts"
import { elementText, fieldElement } from "../managed-fields/path-element.ts"
import { trackUpdate, withoutReset } from "../managed-fields/track-update.ts"
import { itemElement, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"
import { type ApplyConflict, PatchError } from "../patch-failure.ts"
import { applyConflict, type Conflict } from "./apply-conflict.ts"
import { mergeApplied } from "./merge-applied.ts"
import { pruneApplied } from "./prune-applied.ts"

// `kubectl.kubernetes.io/last-applied-configuration` under server-side apply: an object created by `kubectl apply`
// may be taken over by `kubectl apply --server-side` without conflicts, and its annotation is kept up to date for the
// way back. Only for the manager named `kubectl`, as in the real server.

const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

/** Keys and values of all annotations together, in bytes of UTF-8. */
const ANNOTATIONS_LIMIT = 256 * 1024

const annotationsOf = (object: JsonObject): JsonObject => {
  const metadata = memberOf(object, "metadata")
  const annotations = isJsonObject(metadata) ? memberOf(metadata, "annotations") : undefined
  return isJsonObject(annotations) ? annotations : {}
}

const lastApplied = (object: JsonObject): string | undefined => {
  const text = memberOf(annotationsOf(object), ANNOTATION)
  return typeof text === "string" && text !== "" ? text : undefined
}

/**
 * The fields that client-side apply set and that have not changed since: taking them over is not a conflict. Empty
 * without a readable annotation.
 */
const fieldsOfLastApplied = (type: KubernetesType, live: JsonObject, apiVersion: string): FieldSet => {
  const text = lastApplied(live)
  const applied = text === undefined ? undefined : parseObject(text)
  if (applied === undefined || applied.apiVersion !== apiVersion) return leaf
  const fields = fieldsOf(type, applied)
  const changes: FieldChanges | undefined = fieldChanges(type, applied, live)
  return changes === undefined ? fields : difference(difference(fields, changes.touched), changes.removed)
}

/** The object with its annotation, if it has one, replaced by the applied configuration. */
const withLastApplied = (object: JsonObject, applied: JsonObject): JsonObject => {
  if (lastApplied(object) === undefined) return object
  const text = `${goEncoded(withoutAnnotation(applied))}\n`
  const others = withMember(annotationsOf(object), ANNOTATION, undefined)
  const annotations =
    sizeOf(others) + Buffer.byteLength(ANNOTATION) + Buffer.byteLength(text) <= ANNOTATIONS_LIMIT
      ? withMember(others, ANNOTATION, text)
      : others
  const metadata = memberOf(object, "metadata") as JsonObject
  return withMember(object, "metadata", withMember(metadata, "annotations", annotations))
}

const withoutAnnotation = (applied: JsonObject): JsonObject => {
  const metadata = memberOf(applied, "metadata")
  if (!isJsonObject(metadata) || !isJsonObject(memberOf(metadata, "annotations"))) return applied
  const annotations = withMember(annotationsOf(applied), ANNOTATION, undefined)
  return withMember(applied, "metadata", withMember(metadata, "annotations", annotations))
}

const sizeOf = (annotations: JsonObject): number => {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations))
    bytes += Buffer.byteLength(key) + Buffer.byteLength(String(value))
  return bytes
}

/** As Go's encoder writes it: sorted keys, safe for HTML. */
const goEncoded = (value: JsonValue): string => {
  if (isJsonArray(value)) return `[${value.map(goEncoded).join(",")}]`
  if (isJsonObject(value)) {
    const members = Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, member]) => `${escaped(key)}:${goEncoded(member)}`)
    return `{${members.join(",")}}`
  }
  return typeof value === "string" ? escaped(value) : JSON.stringify(value)
}

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value: JsonValue = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

// Checks that an applied configuration fits its type. The server refuses others with a 500 without a reason.

/** @throws PatchError 500 */
const checkApplied = (type: KubernetesType, applied: JsonObject, apiVersion: string): void => {
  const problems: string[] = []
  check(type, applied, "", problems)
  if (problems.length === 0) return
  const name = isJsonObject(applied.metadata) ? applied.metadata.name : undefined
  const kind = gvkText(apiVersion, String(applied.kind ?? ""))
  throw new PatchError({
    code: 500,
    problem: `the configuration ${String(name ?? "")} (${kind}) does not fit its type: ${problems.join("; ")}`,
  })
}

/** `apps/v1, Kind=Deployment`; a core kind has an empty group before its `/`. */
const gvkText = (apiVersion: string, kind: string): string =>
  `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`

const check = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (value === null) return
  switch (type.kind) {
    case "object":
    case "map":
      checkMembers(type, value, path, problems)
      return
    case "list":
      checkItems(type, value, path, problems)
      return
    case "string":
    case "boolean":
      if (typeof value !== type.kind) problems.push(misfit(path, type.kind, value))
      return
    case "integer":
    case "number":
      if (typeof value !== "number") problems.push(misfit(path, "number", value))
      return
    default:
      if (shapeOf(type, value) === "map") checkMembers(type, value, path, problems)
  }
}

const checkMembers = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonObject(value)) {
    problems.push(misfit(path, "object", value))
    return
  }
  for (const [key, member] of Object.entries(value)) {
    const known = memberType(type, key)
    if (known === undefined) {
      problems.push(at(`${path}.${key}`, "field not declared in schema"))
      // The server checks no further in this object.
      return
    }
    check(known, member, `${path}.${key}`, problems)
  }
}

const checkItems = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonArray(value)) {
    problems.push(misfit(path, "list", value))
    return
  }
  const items = itemType(type)
  const seen = new Set<string>()
  for (const [index, item] of value.entries()) {
    let place = `[${index}]`
    if (type.listType !== "atomic") {
      const element = itemElement(type, item)
      if (element === undefined) {
        const expected = type.listType === "set" ? "a scalar" : `an object with ${type.listMapKeys.join(" or ")}`
        problems.push(at(path, `item ${index} must be ${expected}`))
        return
      }
      place = elementText(element)
      if (seen.has(element)) problems.push(at(path, `duplicate entries for key ${place}`))
      seen.add(element)
    }
    check(items, item, `${path}${place}`, problems)
  }
}

const at = (path: string, problem: string): string => (path === "" ? problem : `${path}: ${problem}`)

const misfit = (path: string, expected: string, value: JsonValue): string =>
  at(path, `expected ${expected}, got ${jsonTypeOf(value)}`)

interface ServerSideApply {
  readonly type: KubernetesType
  /** The stored object; `undefined` to create one. */
  readonly live: JsonObject | undefined
  /** The configuration, as the client sent it. */
  readonly applied: JsonObject
  readonly manager: string
  /** Take fields from other managers instead of returning the conflicts. */
  readonly force: boolean
  /** Of the endpoint. */
  readonly apiVersion: string
  /** Of the endpoint; default: the live object's or the configuration's. */
  readonly kind?: string | undefined
  /** RFC 3339 with whole seconds, UTC. */
  readonly time: string
  readonly subresource?: string | undefined
  /** Paths that this endpoint does not change (`[["status"]]`): not owned, no conflicts. Default: none. */
  readonly resetFields?: ReadonlyArray<ReadonlyArray<string>> | undefined
}

/**
 * The object with its new managedFields; if the configuration changed nothing, the times of all entries stay.
 *
 * @throws PatchError 400 for a configuration of another kind or with managedFields, 500 for one that does not fit the type
 * (unknown, wrong or duplicate fields)
 */
export const applyServerSide = (apply: ServerSideApply): { readonly object: JsonObject } | ApplyConflict => {
  checkRequest(apply)
  checkApplied(apply.type, apply.applied, apply.apiVersion)
  const answer = applyAs(apply, apply.force)
  if (apply.manager !== "kubectl")
    return "object" in answer ? { object: answer.object } : applyConflict(answer.conflicts)
  if ("object" in answer) return { object: withLastApplied(answer.object, apply.applied) }
  return takenOver(apply, answer.conflicts)
}

const checkRequest = ({ applied, apiVersion, kind, live }: ServerSideApply): void => {
  const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")
  const sentVersion = text(applied.apiVersion)
  const sentKind = text(applied.kind)
  const wantedKind = kind ?? (text(live?.kind) || sentKind)
  if (sentVersion !== apiVersion || sentKind !== wantedKind || sentKind === "") {
    throw new PatchError({ code: 400, problem: `invalid object type: ${gvkText(sentVersion, sentKind)}` })
  }
  const metadata = memberOf(applied, "metadata")
  if (isJsonObject(metadata) && (memberOf(metadata, "managedFields") ?? null) !== null) {
    throw new PatchError({ code: 400, problem: "metadata.managedFields must be nil" })
  }
}

/** Fields that client-side apply set and that have not changed since are no conflicts. */
const takenOver = (
  apply: ServerSideApply,
  conflicts: ReadonlyArray<Conflict>,
): { readonly object: JsonObject } | ApplyConflict => {
  const allowed = fieldsOfLastApplied(apply.type, apply.live ?? {}, apply.apiVersion)
  if (isEmptySet(allowed)) return applyConflict(conflicts)
  if (!conflicts.every(({ fields }) => isEmptySet(difference(fields, allowed)))) {
    return applyConflict(
      conflicts
        .map(({ entry, fields }) => ({ entry, fields: difference(fields, allowed) }))
        .filter(({ fields }) => !isEmptySet(fields)),
    )
  }
  const answer = applyAs(apply, true)
  return "object" in answer
    ? { object: withLastApplied(answer.object, apply.applied) }
    : applyConflict(answer.conflicts)
}

const applyAs = (
  apply: ServerSideApply,
  force: boolean,
): { readonly object: JsonObject } | { readonly conflicts: ReadonlyArray<Conflict> } => {
  const { type, applied, time } = apply
  const owner: FieldManager = {
    manager: apply.manager,
    operation: "Apply",
    apiVersion: apply.apiVersion,
    subresource: apply.subresource ?? "",
  }
  const live = withoutManagedFields(apply.live ?? {})
  const entries = apply.live === undefined ? [] : entriesOf(apply, apply.live)
  const mine = entries.find((entry) => isEntryOf(entry, owner))
  const others = entries.filter((entry) => entry !== mine)
  const resetPaths = (apply.resetFields ?? []).map((path) => path.map(fieldElement))
  const fields = withoutPaths(fieldsOf(type, applied), resetPaths)
  const merged = mergeApplied(type, live, withoutManagedFields(applied)) as JsonObject
  const object =
    mine === undefined
      ? merged
      : pruneApplied({
          type,
          merged,
          last: mine.fieldsV1,
          owned: others.reduce((owned, entry) => union(owned, entry.fieldsV1), fields),
        })
  const found = fieldChanges(type, live, object)
  const changes = found === undefined ? undefined : withoutReset(found, apply.resetFields)
  const conflicts = conflictsOf(others, changes)
  if (!force && conflicts.length > 0) return { conflicts }
  const owned = difference(fields, UNOWNED)
  const isChanged = apply.live === undefined || !isEqualJson(live, object)
  const kept = afterApply(others, changes)
  if (!isEmptySet(owned)) kept.push(makeEntry(owner, isChanged ? time : mine?.time, owned))
  return { object: withManagedFields(object, inServerOrder(kept)) }
}

/** Fields that no manager ever owns: the server's strip set. */
const UNOWNED: FieldSet = {
  "f:apiVersion": leaf,
  "f:kind": leaf,
  "f:metadata": {
    ".": leaf,
    "f:clusterName": leaf,
    "f:creationTimestamp": leaf,
    "f:generation": leaf,
    "f:managedFields": leaf,
    "f:name": leaf,
    "f:namespace": leaf,
    "f:resourceVersion": leaf,
    "f:selfLink": leaf,
    "f:uid": leaf,
  },
}

/** An object without managedFields so far gets an owner of all its fields. */
const entriesOf = (apply: ServerSideApply, live: JsonObject): ManagedFields => {
  const entries = storedEntries(live)
  if (entries.length > 0) return entries
  const { type, apiVersion, time, subresource, resetFields } = apply
  const manager = "before-first-apply"
  return trackUpdate({
    type,
    before: undefined,
    after: withoutManagedFields(live),
    manager,
    apiVersion,
    operation: "Update",
    time,
    subresource,
    resetFields,
  })
}

const conflictsOf = (others: ManagedFields, changes: FieldChanges | undefined): ReadonlyArray<Conflict> => {
  if (changes === undefined) return []
  return others
    .map((entry) => ({ entry, fields: intersection(entry.fieldsV1, changes.touched) }))
    .filter(({ fields }) => !isEmptySet(fields))
}

const afterApply = (others: ManagedFields, changes: FieldChanges | undefined): ManagedFieldsEntry[] => {
  const kept: ManagedFieldsEntry[] = []
  for (const entry of others) {
    const fields =
      changes === undefined ? entry.fieldsV1 : difference(difference(entry.fieldsV1, changes.touched), changes.removed)
    if (!isEmptySet(fields)) kept.push(withFields(entry, fields))
  }
  return kept
}

const withoutManagedFields = (object: JsonObject): JsonObject => {
  const metadata = memberOf(object, "metadata")
  if (!isJsonObject(metadata) || !Object.hasOwn(metadata, "managedFields")) return object
  return withMember(object, "metadata", withMember(metadata, "managedFields", undefined))
}

const withManagedFields = (object: JsonObject, entries: ManagedFields): JsonObject => {
  if (entries.length === 0) return object
  const metadata = memberOf(object, "metadata")
  const known = isJsonObject(metadata) ? metadata : {}
  return withMember(object, "metadata", withMember(known, "managedFields", entries as unknown as JsonValue))
}
