/** Merging and ordering the lists of strategic merge patches. */

import { memberOf } from "../../own-member.ts"
import { isIntegerNumber, isJsonObject, type JsonObject, type JsonValue, withProperty } from "../json/exact-json.ts"
import { type MergeRule, type MergeRules, StrategicMergeError } from "./merge-rules.ts"

export const PATCH = "$patch"
export const RETAIN_KEYS = "$retainKeys"
export const DELETE_FROM_PRIMITIVE_LIST = "$deleteFromPrimitiveList"
export const SET_ELEMENT_ORDER = "$setElementOrder"

export type List = ReadonlyArray<JsonValue>
/** An object under construction, made by {@link copyOf}. */
export type Draft = Record<string, JsonValue>

export const isList = (value: JsonValue | undefined): value is List => Array.isArray(value)

/**
 * A copy that may be given members of `patch` too. An object with a backslash in a key has no prototype (see withProperty), and
 * neither has a copy of it.
 */
export const copyOf = (object: JsonObject, patch: JsonObject = object): Draft =>
  Object.getPrototypeOf(object) === null || Object.getPrototypeOf(patch) === null
    ? Object.assign(Object.create(null), object)
    : { ...object }

/** The value without objects that carry `$patch`; `undefined` if it is one itself. */
export const withoutDirectives = (value: JsonValue): JsonValue | undefined => {
  if (isList(value)) return value.map(withoutDirectives).filter((item): item is JsonValue => item !== undefined)
  if (!isJsonObject(value)) return value
  if (Object.hasOwn(value, PATCH)) return undefined
  let kept: Draft = {}
  for (const [key, item] of Object.entries(value)) {
    const member = withoutDirectives(item)
    if (member !== undefined) kept = withProperty(kept, key, member)
  }
  return kept
}

type MergeItem = (original: JsonObject, patch: JsonObject, rules: MergeRules) => JsonObject

const refuse = (problem: string): StrategicMergeError => new StrategicMergeError({ reason: "unclassified", problem })

/** Merges items by key, scalars as a set; items of the patch in its order, the others in their old positions among them. */
export const mergeLists = (
  original: List,
  patch: List,
  rule: MergeRule,
  mergeItem: MergeItem,
  deletesItems: boolean,
): List => {
  if (original.length === 0 && patch.length === 0) return original
  if (!holdsObjects(original, patch)) {
    if (deletesItems) return original.filter((item) => !patch.includes(item))
    const merged = [...new Set([...original, ...patch])]
    return inOrder(merged, patch, original, "")
  }
  const key = rule.mergeKey
  if (key === "") throw refuse("cannot merge lists without merge key for struct")
  const special = applySpecialItems(original, patch, key)
  const merged = mergeItems(special.original, special.patch, key, rule.inside(), mergeItem)
  return inOrder(merged, special.patch, special.original, key)
}

interface OrderedList {
  readonly original: List | undefined
  readonly patch: List | undefined
  /** The value of `$setElementOrder`. */
  readonly order: List
  readonly rule: MergeRule
  readonly mergeItem: MergeItem
}

/** The merged list in the order that the patch asks for; `undefined` if there is no list. */
export const orderedList = ({ original, patch, order, rule, mergeItem }: OrderedList): List | undefined => {
  const key = rule.mergeKey
  checkOrder(patch ?? [], order, key)
  let merged: List
  if (original === undefined) {
    if (patch === undefined) return undefined
    merged = withoutDirectives(patch) as List
  } else if (patch === undefined) {
    merged = original
  } else {
    merged = rule.strategy === "merge" ? mergeLists(original, patch, rule, mergeItem, false) : patch
  }
  if (original?.length === 0 && (patch ?? []).length === 0) throw refuse("no elements in any of the given slices")
  holdsObjects(original ?? [], patch ?? [])
  return inOrder(merged, order, placesAfterMerge(original ?? [], patch ?? [], key), key)
}

/**
 * The original order as the real server has it after merging: it deletes and appends within one array, so new items
 * take the places that deleted ones left at the end, and count as originals there.
 */
const placesAfterMerge = (original: List, patch: List, key: string): List => {
  if (key === "" || !patch.some((item) => isJsonObject(item) && memberOf(item, PATCH) === "delete")) return original
  const keys = (items: List): Set<JsonValue> => new Set(items.map((item) => mergeKeyOf(item, key)))
  const deleted = keys(patch.filter((item) => memberOf(item as JsonObject, PATCH) === "delete"))
  const kept = original.filter((item) => !deleted.has(mergeKeyOf(item, key)))
  const known = keys(kept)
  const added = patch.filter((item) => !(PATCH in (item as JsonObject)) && !known.has(mergeKeyOf(item, key)))
  return [...kept, ...added.slice(0, original.length - kept.length)]
}

/** All items must be of one type, and not lists. */
const holdsObjects = (original: List, patch: List): boolean => {
  let name: string | undefined
  for (const item of [...original, ...patch]) {
    const itemName = listItemType(item)
    if (name === undefined) {
      name = itemName
      if (isList(item))
        throw new StrategicMergeError({ reason: "list-of-lists", problem: "lists of lists are not supported" })
    } else if (name !== itemName) {
      throw refuse("the items of a list must be of one type")
    }
  }
  return name === "object"
}

/** The server tells whole numbers from others. */
const listItemType = (item: JsonValue): string => {
  if (item === null) return "null"
  if (isList(item)) return "array"
  if (isJsonObject(item)) return "object"
  const isInteger = typeof item === "bigint" || (typeof item === "number" && isIntegerNumber(item))
  return isInteger ? "integer" : typeof item === "object" ? "number" : typeof item
}

const noMergeKey = (key: string): StrategicMergeError => refuse(`an item lacks the merge key ${key}`)

/** Items with `$patch`: `delete` drops the item of the same key, `replace` the whole original list. */
const applySpecialItems = (original: List, patch: List, key: string): { original: List; patch: List } => {
  const plain: JsonValue[] = []
  let kept = original
  let replaces = false
  for (const item of patch) {
    const object = item as JsonObject
    const directive = memberOf(object, PATCH)
    if (directive === undefined) {
      plain.push(item)
    } else if (directive === "delete") {
      const value = memberOf(object, key)
      if (value === undefined) throw noMergeKey(key)
      kept = kept.filter((other) => memberOf(other as JsonObject, key) !== value)
    } else if (directive === "replace") {
      replaces = true
    } else if (directive === "merge") {
      throw refuse("merging lists cannot yet be specified in the patch")
    } else {
      throw refuse("unknown $patch directive")
    }
  }
  return replaces ? { original: plain, patch: [] } : { original: kept, patch: plain }
}

const mergeItems = (original: List, patch: List, key: string, rules: MergeRules, mergeItem: MergeItem): List => {
  const merged = [...original]
  for (const item of patch) {
    const value = memberOf(item as JsonObject, key)
    if (value === undefined) throw noMergeKey(key)
    const index = merged.findIndex((other) => memberOf(other as JsonObject, key) === value)
    if (index < 0) merged.push(item)
    else merged[index] = mergeItem(merged[index] as JsonObject, item as JsonObject, rules)
  }
  return merged
}

/** The items that `order` names in its order, the others in the original's, interleaved as in the original. */
const inOrder = (merged: List, order: List, original: List, key: string): List => {
  const keyOf = (item: JsonValue): JsonValue | undefined => (key === "" ? item : mergeKeyOf(item, key))
  const orderIndex = indexByKey(order, keyOf)
  const originalIndex = indexByKey(original, keyOf)
  const named: JsonValue[] = []
  const others: JsonValue[] = []
  for (const item of merged) (orderIndex.has(keyOf(item)) ? named : others).push(item)
  sortByIndex(named, orderIndex, keyOf)
  sortByIndex(others, originalIndex, keyOf)
  const result: JsonValue[] = []
  let next = 0
  for (const item of named) {
    const place = originalIndex.get(keyOf(item))
    for (; next < others.length; next++) {
      const otherPlace = originalIndex.get(keyOf(others[next] as JsonValue))
      if (place === undefined || otherPlace === undefined || otherPlace > place) break
      result.push(others[next] as JsonValue)
    }
    result.push(item)
  }
  result.push(...others.slice(next))
  return result
}

const mergeKeyOf = (item: JsonValue, key: string): JsonValue => {
  if (!isJsonObject(item)) throw refuse(`expected an object, got ${listItemType(item)}`)
  const value = memberOf(item, key)
  if (value === undefined) throw noMergeKey(key)
  return value
}

const indexByKey = (
  list: List,
  keyOf: (item: JsonValue) => JsonValue | undefined,
): ReadonlyMap<JsonValue | undefined, number> => {
  const index = new Map<JsonValue | undefined, number>()
  list.forEach((item, place) => {
    const key = keyOf(item)
    if (!index.has(key)) index.set(key, place)
  })
  return index
}

const sortByIndex = (
  items: JsonValue[],
  index: ReadonlyMap<JsonValue | undefined, number>,
  keyOf: (item: JsonValue) => JsonValue | undefined,
): void => {
  items.sort((left, right) => (index.get(keyOf(left)) ?? 0) - (index.get(keyOf(right)) ?? 0))
}

/** The patch's items must appear in `$setElementOrder`, in the same relative order. */
const checkOrder = (patch: List, order: List, key: string): void => {
  if (order.length === 0 || patch.length === 0) return
  const plain = key === "" ? patch : patch.filter((item) => !(isJsonObject(item) && Object.hasOwn(item, PATCH)))
  let place = 0
  for (const wanted of order) {
    if (place >= plain.length) return
    const item = plain[place] as JsonValue
    const isSame = key === "" ? item === wanted : mergeKeyOf(item, key) === mergeKeyOf(wanted, key)
    if (isSame) place++
  }
  if (place < plain.length) {
    throw refuse(`the items are not in the order of ${SET_ELEMENT_ORDER}`)
  }
}
