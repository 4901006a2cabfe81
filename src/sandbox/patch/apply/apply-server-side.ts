/**
 * Server-side apply: a manager sends its configuration; the server merges it, removes what that manager no longer
 * applies and no other manager owns, and refuses if another manager's field would change without `force`.
 *
 * To be called where the real server does it: before admission and the kind's own rules. The result still lacks the
 * defaults of new fields, and may contain nulls and a `status` from the configuration. Entries of other versions of
 * the kind are compared in this version's schema (see track-update.ts).
 *
 * Measured (2 cores, Node 26), Deployment of 4.9 kB: 45 µs for the same configuration again, 160 µs when a field is
 * removed.
 */

import { memberOf } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isEqualJson, isJsonObject, type JsonObject, type JsonValue, withMember } from "../json/json-value.ts"
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
import { fieldElement } from "../managed-fields/path-element.ts"
import { trackUpdate, withoutReset } from "../managed-fields/track-update.ts"
import { type ApplyConflict, PatchError } from "../patch-failure.ts"
import { applyConflict, type Conflict } from "./apply-conflict.ts"
import { checkApplied, gvkText } from "./check-applied.ts"
import { fieldsOfLastApplied, isAllowed, withLastApplied } from "./last-applied.ts"
import { mergeApplied } from "./merge-applied.ts"
import { pruneApplied } from "./prune-applied.ts"

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
  if (!conflicts.every(({ fields }) => isAllowed(fields, allowed))) {
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
