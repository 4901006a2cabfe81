/**
 * The strategic merge patch that turns one state of an object into another.
 *
 * Guarantee: applied by Kubernetes' own rules it gives exactly the second state, lists in its order; if no such patch can express the
 * change reliably, the result is `undefined`, and the whole object must be written instead. Neither state has nulls.
 */

import { isDeepStrictEqual } from "node:util"
import * as Schema from "effect/Schema"
import { isJsonObject, type JsonObject, type JsonValue, withProperty } from "../../json/exact-json.ts"
import { mergeRule } from "./merge-rules.ts"

/** Thrown and caught only in this module: most changes can be expressed, and otherwise each level would have to pass on a failure. */
class Inexpressible extends Schema.TaggedError<Inexpressible>()("Inexpressible", {}) {}

/** The patch, empty if the states are equal; `undefined` if there is no reliable one. */
export const strategicDiff = (gvk: string, before: JsonObject, after: JsonObject): JsonObject | undefined => {
  try {
    return mapDiff(gvk, "", before, after)
  } catch (error) {
    if (error instanceof Inexpressible) return undefined
    throw error
  }
}

/** `start`: members that the patch has in any case. */
const mapDiff = (
  gvk: string,
  parent: string,
  before: JsonObject,
  after: JsonObject,
  start: Record<string, JsonValue> = {},
): JsonObject => {
  let patch = start
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch = withProperty(patch, key, null)
  for (const key of Object.keys(after)) {
    // A field with such a name would be read as a directive.
    if (key.startsWith("$")) throw new Inexpressible({})
    const value = after[key] as JsonValue
    const old = Object.hasOwn(before, key) ? (before[key] as JsonValue) : undefined
    if (old !== undefined && isDeepStrictEqual(old, value)) continue
    if (old === undefined) patch = withProperty(patch, key, checked(value))
    else
      for (const [name, difference] of fieldDiff(gvk, parent, key, old, value))
        patch = withProperty(patch, name, difference)
  }
  return patch
}

/** The patch for a field that both states have: one entry, or two if the order of a list must be given. */
const fieldDiff = (
  gvk: string,
  parent: string,
  key: string,
  old: JsonValue,
  value: JsonValue,
): ReadonlyArray<readonly [name: string, value: JsonValue]> => {
  const rule = mergeRule(gvk, parent, key)
  if (isJsonObject(old) && isJsonObject(value))
    return [[key, rule.tag === "replace" ? checked(value) : mapDiff(gvk, key, old, value)]]
  if (isList(old) && isList(value)) {
    if (rule.tag === "union") throw new Inexpressible({})
    if (rule.tag === "merge") return listDiff(gvk, key, rule.key, old, value)
  }
  return [[key, checked(value)]]
}

/** Elements that were changed, added or removed; and the order if it is a new one, since new elements would come first. */
const listDiff = (
  gvk: string,
  field: string,
  mergeKey: string,
  before: ReadonlyArray<JsonValue>,
  after: ReadonlyArray<JsonValue>,
): ReadonlyArray<readonly [name: string, value: JsonValue]> => {
  const old = byKey(before, mergeKey)
  const fresh = byKey(after, mergeKey)
  const kept = [...old.keys()].filter((key) => fresh.has(key))
  if (kept.length === 0) return [[field, [{ $patch: "replace" }, ...after.map(checked)]]]
  const patch: JsonValue[] = []
  for (const [key, element] of fresh) {
    const former = old.get(key)
    if (former === undefined) patch.push(checked(element))
    else if (!isDeepStrictEqual(former, element)) patch.push(mapDiff(gvk, field, former, element, { [mergeKey]: key }))
  }
  for (const key of old.keys()) if (!fresh.has(key)) patch.push({ $patch: "delete", [mergeKey]: key })
  const entry = [field, patch] as const
  if (isDeepStrictEqual([...fresh.keys()], kept)) return [entry]
  const order = [...fresh.keys()].map((key) => ({ [mergeKey]: key }))
  return patch.length === 0 ? [[`$setElementOrder/${field}`, order]] : [[`$setElementOrder/${field}`, order], entry]
}

/** Elements by their key. */
const byKey = (list: ReadonlyArray<JsonValue>, mergeKey: string): Map<string | number, JsonObject> => {
  const found = new Map<string | number, JsonObject>()
  for (const element of list) {
    const key = isJsonObject(element) && Object.hasOwn(element, mergeKey) ? element[mergeKey] : undefined
    // Without a unique key an element cannot be named: ports may share a number, and references have lost their uid.
    if (!isJsonObject(element) || !(typeof key === "string" || typeof key === "number") || found.has(key))
      throw new Inexpressible({})
    found.set(key, element)
  }
  return found
}

/** Checks that a value that is copied into the patch does not look like a directive. */
const checked = (value: JsonValue): JsonValue => {
  if (isList(value)) for (const item of value) checked(item)
  else if (isJsonObject(value))
    for (const key of Object.keys(value)) {
      if (key.startsWith("$")) throw new Inexpressible({})
      checked(value[key] as JsonValue)
    }
  return value
}

const isList = (value: JsonValue): value is ReadonlyArray<JsonValue> => Array.isArray(value)
