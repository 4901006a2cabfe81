/**
 * Strategic merge patch: a merge patch in which the type determines which lists are merged, and by which key. Directives:
 * `$patch` (`replace`, `delete`), `$retainKeys`, `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>`; null
 * deletes.
 *
 * The real server processes the members of a patch in random order; here it is their own order, which only affects
 * which of several errors is reported. Custom resources have no such patches: the REST layer responds with 415 itself.
 */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonObjectDraft,
  type JsonValue,
  jsonTypeOf,
  memberOf,
  setMember,
} from "../json/json-value.ts"
import { notAnObject } from "../json/merge-patch.ts"
import { MalformedPatchError, UnclassifiedPatchError } from "../patch-failure.ts"
import {
  DELETE_FROM_PRIMITIVE_LIST,
  PATCH,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  withoutDirectives,
  withoutNullMembers,
} from "./strategic-directives.ts"
import { mergeLists, orderedList } from "./strategic-lists.ts"
import { fieldForPatch, strategyOf } from "./strategic-schema.ts"

/**
 * The patched document; parts that the patch does not name are shared.
 *
 * @throws MalformedPatchError for a patch that is not an object, and for directives of the wrong form
 * @throws UnclassifiedPatchError for everything that gets a 500 from the server: a missing merge key, an unknown directive…
 * @throws InapplicablePatchError for lists of lists
 */
export const applyStrategicMergePatch = (document: JsonValue, patch: JsonValue, type: KubernetesType): JsonValue => {
  if (patch === null) return document
  if (!isJsonObject(patch)) throw notAnObject(patch)
  return mergeObjects(isJsonObject(document) ? document : {}, patch, type)
}

const mergeObjects = (original: JsonObject, patch: JsonObject, type: KubernetesType): JsonObject => {
  const directive = memberOf(patch, PATCH)
  if (directive !== undefined) return replacedObject(directive, patch)
  const draft: JsonObjectDraft = { ...original }
  const rest: JsonObjectDraft = { ...patch }
  retainKeys(draft, rest)
  for (const key of Object.keys(patch)) {
    if (key.startsWith(SET_ELEMENT_ORDER)) orderList(draft, rest, key, type)
  }
  for (const key of Object.keys(rest)) mergeMember(draft, key, rest[key] as JsonValue, type)
  return draft
}

const replacedObject = (directive: JsonValue, patch: JsonObject): JsonObject => {
  if (directive === "replace") {
    const { [PATCH]: _, ...replacement } = patch
    return replacement
  }
  if (directive === "delete") return {}
  throw unknownDirective(directive, patch)
}

const unknownDirective = (directive: JsonValue, patch: JsonObject): UnclassifiedPatchError =>
  new UnclassifiedPatchError({
    problem: `unknown $patch directive ${JSON.stringify(directive)} in ${JSON.stringify(patch)}`,
  })

/** Drops the members that `$retainKeys` does not list; those that the patch sets must be listed. */
const retainKeys = (draft: JsonObjectDraft, patch: JsonObjectDraft): void => {
  const listed = memberOf(patch, RETAIN_KEYS)
  if (listed === undefined) return
  delete patch[RETAIN_KEYS]
  const refused = new MalformedPatchError({ problem: "invalid patch format of retainKeys" })
  if (!isJsonArray(listed)) throw refused
  const kept = new Set(listed)
  for (const key of Object.keys(patch)) {
    const isDirective = key.startsWith(DELETE_FROM_PRIMITIVE_LIST) || key.startsWith(SET_ELEMENT_ORDER)
    if (patch[key] !== null && !isDirective && !kept.has(key)) throw refused
  }
  for (const key of Object.keys(draft)) if (!kept.has(key)) delete draft[key]
}

/** `$setElementOrder/list`: merges the list of the patch and puts the result in that order. */
const orderList = (draft: JsonObjectDraft, patch: JsonObjectDraft, key: string, type: KubernetesType): void => {
  const order = patch[key] as JsonValue
  delete patch[key]
  const wanted = listOrRefuse(order)
  const name = listName(key, SET_ELEMENT_ORDER)
  const original = memberOf(draft, name)
  const patched = memberOf(patch, name)
  const originalList = original === undefined ? undefined : listOrRefuse(original)
  const patchedList = patched === undefined ? undefined : listOrRefuse(patched)
  const field = fieldForPatch(type, name)
  const merged = orderedList({
    original: originalList,
    patch: patchedList,
    order: wanted,
    field,
    mergeItem: mergeObjects,
  })
  if (merged === undefined) return
  setMember(draft, name, merged)
  delete patch[name]
}

const listOrRefuse = (value: JsonValue): ReadonlyArray<JsonValue> => {
  if (isJsonArray(value)) return value
  throw new UnclassifiedPatchError({ problem: `expected a list, got ${jsonTypeOf(value)}` })
}

const listName = (key: string, prefix: typeof SET_ELEMENT_ORDER | typeof DELETE_FROM_PRIMITIVE_LIST): string => {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1)
  const what = prefix === SET_ELEMENT_ORDER ? "setElementOrder list" : "primitive list"
  throw new MalformedPatchError({ problem: `invalid patch format of ${what}` })
}

const mergeMember = (draft: JsonObjectDraft, key: string, value: JsonValue, type: KubernetesType): void => {
  const deletesItems = key.startsWith(DELETE_FROM_PRIMITIVE_LIST)
  const name = deletesItems ? listName(key, DELETE_FROM_PRIMITIVE_LIST) : key
  if (value === null) {
    delete draft[name]
    return
  }
  const original = memberOf(draft, name)
  if (isJsonObject(original) && isJsonObject(value)) {
    const field = fieldForPatch(type, name)
    const merged = strategyOf(field) === "replace" ? value : mergeObjects(original, value, field)
    setMember(draft, name, merged)
    return
  }
  if (isJsonArray(original) && isJsonArray(value)) {
    const field = fieldForPatch(type, name)
    const merges = strategyOf(field) === "merge" || deletesItems
    setMember(draft, name, merges ? mergeLists(original, value, field, mergeObjects, deletesItems) : value)
    return
  }
  // Items can only be deleted from a list.
  if (
    deletesItems &&
    (original === undefined || typeof original !== typeof value || isJsonArray(original) !== isJsonArray(value))
  ) {
    return
  }
  const taken = withoutDirectives(withoutNullMembers(value))
  if (taken === undefined) delete draft[name]
  else setMember(draft, name, taken)
}
