/**
 * Strategic merge patch: a merge patch in which the type determines which lists are merged, and by which key. Directives:
 * `$patch` (`replace`, `delete`), `$retainKeys`, `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>`; null
 * deletes.
 *
 * The real server looks at the members of a patch in random order; here their own order counts, which matters only for
 * the choice between several errors. Which lists are merged the caller says (merge-rules.ts): the sandbox from its schemas, kwok's
 * format from a table.
 */

import { memberOf, setMember } from "../../own-member.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/exact-json.ts"
import { withoutNulls } from "../json/members.ts"
import {
  copyOf,
  DELETE_FROM_PRIMITIVE_LIST,
  type Draft,
  isList,
  type List,
  mergeLists,
  orderedList,
  PATCH,
  RETAIN_KEYS,
  SET_ELEMENT_ORDER,
  withoutDirectives,
} from "./lists.ts"
import { type MergeRules, StrategicMergeError } from "./merge-rules.ts"

/**
 * The object with what the patch says; parts that it does not name are shared.
 * @throws StrategicMergeError for what Kubernetes refuses
 */
export const strategicMerge = (object: JsonObject, patch: JsonObject, rules: MergeRules): JsonObject =>
  mergeObjects(object, patch, rules)

const mergeObjects = (original: JsonObject, patch: JsonObject, rules: MergeRules): JsonObject => {
  const directive = memberOf(patch, PATCH)
  if (directive !== undefined) return replacedObject(directive, patch)
  const draft = copyOf(original, patch)
  const rest = copyOf(patch)
  retainKeys(draft, rest)
  for (const key of Object.keys(patch)) {
    if (key.startsWith(SET_ELEMENT_ORDER)) orderList(draft, rest, key, rules)
  }
  for (const [key, value] of Object.entries(rest)) mergeMember(draft, key, value, rules)
  return draft
}

const replacedObject = (directive: JsonValue, patch: JsonObject): JsonObject => {
  if (directive === "replace") {
    const replacement = copyOf(patch)
    delete replacement[PATCH]
    return replacement
  }
  if (directive === "delete") return {}
  throw new StrategicMergeError({ reason: "unclassified", problem: "unknown $patch directive" })
}

/** Drops what `$retainKeys` does not list; whatever the patch sets must be listed. */
const retainKeys = (draft: Draft, patch: Draft): void => {
  const listed = memberOf(patch, RETAIN_KEYS)
  if (listed === undefined) return
  delete patch[RETAIN_KEYS]
  const refused = new StrategicMergeError({ reason: "malformed", problem: "invalid patch format of retainKeys" })
  if (!isList(listed)) throw refused
  const kept = new Set(listed)
  for (const key of Object.keys(patch)) {
    const isDirective = key.startsWith(DELETE_FROM_PRIMITIVE_LIST) || key.startsWith(SET_ELEMENT_ORDER)
    if (patch[key] !== null && !isDirective && !kept.has(key)) throw refused
  }
  for (const key of Object.keys(draft)) if (!kept.has(key)) delete draft[key]
}

/** `$setElementOrder/list`: merges the list of the patch and puts the result in that order. */
const orderList = (draft: Draft, patch: Draft, key: string, rules: MergeRules): void => {
  const order = patch[key] as JsonValue
  delete patch[key]
  const wanted = listOrRefuse(order)
  const name = listName(key, SET_ELEMENT_ORDER)
  const original = memberOf(draft, name)
  const patched = memberOf(patch, name)
  const originalList = original === undefined ? undefined : listOrRefuse(original)
  const patchedList = patched === undefined ? undefined : listOrRefuse(patched)
  const rule = rules.of(name)
  const merged = orderedList({
    original: originalList,
    patch: patchedList,
    order: wanted,
    rule,
    mergeItem: mergeObjects,
  })
  if (merged === undefined) return
  setMember(draft, name, merged)
  delete patch[name]
}

const listOrRefuse = (value: JsonValue): List => {
  if (isList(value)) return value
  throw new StrategicMergeError({ reason: "unclassified", problem: "expected a list" })
}

const listName = (key: string, prefix: typeof SET_ELEMENT_ORDER | typeof DELETE_FROM_PRIMITIVE_LIST): string => {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1)
  const what = prefix === SET_ELEMENT_ORDER ? "setElementOrder list" : "primitive list"
  throw new StrategicMergeError({ reason: "malformed", problem: `invalid patch format of ${what}` })
}

const mergeMember = (draft: Draft, key: string, value: JsonValue, rules: MergeRules): void => {
  const deletesItems = key.startsWith(DELETE_FROM_PRIMITIVE_LIST)
  const name = deletesItems ? listName(key, DELETE_FROM_PRIMITIVE_LIST) : key
  if (value === null) {
    delete draft[name]
    return
  }
  const original = memberOf(draft, name)
  if (isJsonObject(original) && isJsonObject(value)) {
    const rule = rules.of(name)
    setMember(draft, name, rule.strategy === "replace" ? value : mergeObjects(original, value, rule.inside()))
    return
  }
  if (isList(original) && isList(value)) {
    const rule = rules.of(name)
    const merges = rule.strategy === "merge" || deletesItems
    setMember(draft, name, merges ? mergeLists(original, value, rule, mergeObjects, deletesItems) : value)
    return
  }
  // Items can only be deleted from a list.
  if (
    deletesItems &&
    (original === undefined || typeof original !== typeof value || isList(original) !== isList(value))
  ) {
    return
  }
  const taken = withoutDirectives(withoutNulls(value))
  if (taken === undefined) delete draft[name]
  else setMember(draft, name, taken)
}
