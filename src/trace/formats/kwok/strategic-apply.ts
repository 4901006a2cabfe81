/**
 * Applies a strategic merge patch, as Kubernetes does, with the directives that its own tools write: `$patch` (`replace`,
 * `delete`), `$setElementOrder/…`, `$deleteFromPrimitiveList/…`, `$retainKeys`. Inputs are not changed.
 */

import { isDeepStrictEqual } from "node:util"
import { isJsonObject, type JsonObject, type JsonValue, withProperty } from "../../json/exact-json.ts"
import { mergeRule } from "./merge-rules.ts"

const ELEMENT_ORDER = "$setElementOrder/"
const DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"

/** The patched object. Total: directives that make no sense where they stand are passed over. */
export const applyStrategicPatch = (gvk: string, object: JsonObject, patch: JsonObject): JsonObject =>
  mergeMaps(gvk, "", object, patch)

const mergeMaps = (gvk: string, parent: string, original: JsonObject, patch: JsonObject): JsonObject => {
  if (patch.$patch === "delete") return {}
  let merged: Record<string, JsonValue> = {}
  if (patch.$patch !== "replace") {
    const retained = isList(patch.$retainKeys) ? new Set<JsonValue>(patch.$retainKeys) : undefined
    for (const key of Object.keys(original))
      if (retained?.has(key) !== false) merged = withProperty(merged, key, original[key] as JsonValue)
  }
  for (const key of Object.keys(patch)) {
    const value = patch[key] as JsonValue
    if (key.startsWith(DELETE_PRIMITIVES)) {
      const field = key.slice(DELETE_PRIMITIVES.length)
      const old = ownOf(merged, field)
      if (isList(old) && isList(value))
        merged = withProperty(
          merged,
          field,
          old.filter((item) => !value.includes(item)),
        )
    } else if (key.startsWith("$")) {
      // The other directives are read where they belong.
    } else if (value === null) merged = withoutKey(merged, key)
    else merged = withProperty(merged, key, mergeField(gvk, parent, key, ownOf(merged, key), value))
  }
  return withElementOrder(gvk, parent, merged, patch)
}

const mergeField = (
  gvk: string,
  parent: string,
  field: string,
  old: JsonValue | undefined,
  value: JsonValue,
): JsonValue => {
  // What there was not is taken as it comes: two elements of one key stay two.
  if (old === undefined) return withoutDirectives(value)
  const rule = mergeRule(gvk, parent, field)
  if (isJsonObject(value)) {
    const base = isJsonObject(old) && rule.tag !== "replace" ? old : {}
    return mergeMaps(gvk, field, base, value)
  }
  if (!isList(value) || (rule.tag !== "merge" && rule.tag !== "union")) return value
  const list = isList(old) ? old : []
  if (rule.tag === "union") return [...list, ...value.filter((item) => !list.includes(item))]
  return mergeLists(gvk, field, rule.key, list, value)
}

const mergeLists = (
  gvk: string,
  field: string,
  mergeKey: string,
  original: ReadonlyArray<JsonValue>,
  patch: ReadonlyArray<JsonValue>,
): ReadonlyArray<JsonValue> => {
  const directiveOf = (item: JsonValue): JsonValue | undefined =>
    isJsonObject(item) ? ownOf(item, "$patch") : undefined
  if (patch.some((item) => directiveOf(item) === "replace"))
    return patch.filter((item) => directiveOf(item) === undefined).map(withoutDirectives)
  const merged = [...original]
  for (const item of patch) {
    const directive = directiveOf(item)
    const at = merged.findIndex((candidate) => hasSameKey(candidate, item, mergeKey))
    if (directive === "delete") {
      if (at >= 0) merged.splice(at, 1)
    } else if (isJsonObject(item)) {
      const old = merged[at]
      if (isJsonObject(old)) merged[at] = mergeMaps(gvk, field, old, item)
      else merged.push(withoutDirectives(item))
    } else merged.push(item)
  }
  return merged
}

/** A value that a patch brings, without what is meant for merging, and without nulls in maps. */
const withoutDirectives = (value: JsonValue): JsonValue => {
  if (isList(value))
    return value.filter((item) => !isJsonObject(item) || ownOf(item, "$patch") === undefined).map(withoutDirectives)
  if (!isJsonObject(value)) return value
  let kept: Record<string, JsonValue> = {}
  for (const key of Object.keys(value)) {
    const item = value[key] as JsonValue
    if (!key.startsWith("$") && item !== null) kept = withProperty(kept, key, withoutDirectives(item))
  }
  return kept
}

const hasSameKey = (left: JsonValue, right: JsonValue, mergeKey: string): boolean =>
  isJsonObject(left) &&
  isJsonObject(right) &&
  Object.hasOwn(left, mergeKey) &&
  Object.hasOwn(right, mergeKey) &&
  isDeepStrictEqual(left[mergeKey], right[mergeKey])

/** Puts the lists in the order that the patch asks for; elements it does not name follow in their own. */
const withElementOrder = (
  gvk: string,
  parent: string,
  merged: Record<string, JsonValue>,
  patch: JsonObject,
): JsonObject => {
  let ordered = merged
  for (const key of Object.keys(patch)) {
    if (!key.startsWith(ELEMENT_ORDER)) continue
    const field = key.slice(ELEMENT_ORDER.length)
    const list = ownOf(merged, field)
    const order = patch[key] as JsonValue
    if (!isList(list) || !isList(order)) continue
    const rule = mergeRule(gvk, parent, field)
    const placeOf = (item: JsonValue): number => {
      const place = order.findIndex((wanted) =>
        rule.tag === "merge" ? hasSameKey(wanted, item, rule.key) : isDeepStrictEqual(wanted, item),
      )
      return place < 0 ? order.length : place
    }
    ordered = withProperty(
      ordered,
      field,
      list.toSorted((left, right) => placeOf(left) - placeOf(right)),
    )
  }
  return ordered
}

const withoutKey = (object: Record<string, JsonValue>, dropped: string): Record<string, JsonValue> => {
  let kept: Record<string, JsonValue> = {}
  for (const key of Object.keys(object)) if (key !== dropped) kept = withProperty(kept, key, object[key] as JsonValue)
  return kept
}

const ownOf = (object: JsonObject, key: string): JsonValue | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

const isList = (value: JsonValue | undefined): value is ReadonlyArray<JsonValue> => Array.isArray(value)
