/** Merging and ordering the lists of strategic merge patches. */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonTypeOf, memberOf } from "../json/json-value.ts"
import { itemType } from "../managed-fields/type-walk.ts"
import { InapplicablePatchError, UnclassifiedPatchError } from "../patch-failure.ts"
import { PATCH, SET_ELEMENT_ORDER, withoutDirectives } from "./strategic-directives.ts"
import { strategyOf } from "./strategic-schema.ts"

type List = ReadonlyArray<JsonValue>
type MergeItem = (original: JsonObject, patch: JsonObject, type: KubernetesType) => JsonObject

const refuse = (problem: string): UnclassifiedPatchError => new UnclassifiedPatchError({ problem })

/** Merges items by key, scalars as a set; items of the patch in its order, the others in their old positions among them. */
export const mergeLists = (
  original: List,
  patch: List,
  field: KubernetesType,
  mergeItem: MergeItem,
  deletesItems: boolean,
): List => {
  if (original.length === 0 && patch.length === 0) return original
  if (!holdsObjects(original, patch)) {
    if (deletesItems) return original.filter((item) => !patch.includes(item))
    const merged = [...new Set([...original, ...patch])]
    return inOrder(merged, patch, original, "")
  }
  const key = field.patchMergeKey ?? ""
  if (key === "") throw refuse("cannot merge lists without merge key for struct")
  const special = applySpecialItems(original, patch, key)
  const merged = mergeItems(special.original, special.patch, key, itemType(field), mergeItem)
  return inOrder(merged, special.patch, special.original, key)
}

export interface OrderedList {
  readonly original: List | undefined
  readonly patch: List | undefined
  /** The value of `$setElementOrder`. */
  readonly order: List
  readonly field: KubernetesType
  readonly mergeItem: MergeItem
}

/** The merged list in the order that the patch requests; `undefined` if there is no list. */
export const orderedList = ({ original, patch, order, field, mergeItem }: OrderedList): List | undefined => {
  const key = field.patchMergeKey ?? ""
  checkOrder(patch ?? [], order, key)
  let merged: List
  if (original === undefined) {
    if (patch === undefined) return undefined
    merged = withoutDirectives(patch) as List
  } else if (patch === undefined) {
    merged = original
  } else {
    merged = strategyOf(field) === "merge" ? mergeLists(original, patch, field, mergeItem, false) : patch
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
      if (isJsonArray(item)) throw new InapplicablePatchError({ problem: "lists of lists are not supported" })
    } else if (name !== itemName) {
      throw refuse("the items of a list must be of one type")
    }
  }
  return name === "object"
}

/** The server distinguishes whole numbers from others. */
const listItemType = (item: JsonValue): string => (Number.isInteger(item) ? "integer" : jsonTypeOf(item))

const noMergeKey = (item: JsonValue, key: string): UnclassifiedPatchError =>
  refuse(`an item lacks the merge key ${key}: ${JSON.stringify(item)}`)

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
      if (value === undefined) throw noMergeKey(item, key)
      kept = kept.filter((other) => memberOf(other as JsonObject, key) !== value)
    } else if (directive === "replace") {
      replaces = true
    } else if (directive === "merge") {
      throw refuse("merging lists cannot yet be specified in the patch")
    } else {
      throw refuse(`unknown $patch directive ${JSON.stringify(directive)} in ${JSON.stringify(item)}`)
    }
  }
  return replaces ? { original: plain, patch: [] } : { original: kept, patch: plain }
}

const mergeItems = (original: List, patch: List, key: string, type: KubernetesType, mergeItem: MergeItem): List => {
  const merged = [...original]
  for (const item of patch) {
    const value = memberOf(item as JsonObject, key)
    if (value === undefined) throw noMergeKey(item, key)
    const index = merged.findIndex((other) => memberOf(other as JsonObject, key) === value)
    if (index < 0) merged.push(item)
    else merged[index] = mergeItem(merged[index] as JsonObject, item as JsonObject, type)
  }
  return merged
}

/**
 * The items that `order` names in its order, the others in the original's, interleaved as in the original.
 */
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
  if (!isJsonObject(item)) throw refuse(`expected an object, got ${jsonTypeOf(item)}`)
  const value = memberOf(item, key)
  if (value === undefined) throw noMergeKey(item, key)
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
