/**
 * Merges an applied configuration into the live object: its values win, maps and keyed lists are merged, atomic ones
 * replaced. Its items keep their order in lists, and all other items stay as near as possible to their old position.
 */

import { memberOf, setMember } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonObjectDraft, type JsonValue } from "../json/json-value.ts"
import { anyType, isEmptyMap, itemElement, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"

/** Either side may be `undefined` for absent, but not both. */
export const mergeApplied = (
  type: KubernetesType,
  live: JsonValue | undefined,
  applied: JsonValue | undefined,
): JsonValue => {
  if (applied === undefined) return live as JsonValue
  if (live === undefined) return applied
  const shape = shapeOf(type, applied)
  if (shape === "leaf") return applied
  if (shape === "map") {
    const left = isJsonObject(live) ? live : undefined
    const right = isJsonObject(applied) ? applied : undefined
    return isEmptyMap(left) && isEmptyMap(right) ? applied : mergeMembers(type, left ?? {}, right ?? {})
  }
  const left = isJsonArray(live) ? live : []
  const right = isJsonArray(applied) ? applied : []
  return left.length === 0 && right.length === 0 ? applied : mergeItems(type, left, right)
}

const mergeMembers = (type: KubernetesType, live: JsonObject, applied: JsonObject): JsonObject => {
  let merged: JsonObjectDraft | undefined
  for (const key of Object.keys(applied)) {
    const old = memberOf(live, key)
    const value = mergeApplied(memberType(type, key) ?? anyType, old, applied[key])
    if (value === old) continue
    merged ??= { ...live }
    setMember(merged, key, value)
  }
  return merged ?? live
}

/** Items without an element cannot be told apart; the live object is not refused for them, and they keep their position. */
const elementsOf = (type: KubernetesType, list: ReadonlyArray<JsonValue>): ReadonlyArray<string> =>
  list.map((item, index) => itemElement(type, item) ?? `?:${index}`)

const mergeItems = (
  type: KubernetesType,
  live: ReadonlyArray<JsonValue>,
  applied: ReadonlyArray<JsonValue>,
): ReadonlyArray<JsonValue> => {
  const items = itemType(type)
  const left = elementsOf(type, live)
  const right = elementsOf(type, applied)
  const liveByElement = new Map<string, JsonValue | undefined>()
  left.forEach((element, index) => {
    // A live duplicate is not merged with the applied item, but replaced by it.
    liveByElement.set(element, liveByElement.has(element) ? undefined : live[index])
  })
  const appliedByElement = new Map(right.map((element, index) => [element, applied[index]] as const))
  const shared = right.filter((element) => liveByElement.has(element))
  const merged: JsonValue[] = []
  const taken = new Set<string>()
  let nextShared = 0
  const take = (element: string): void => {
    taken.add(element)
    merged.push(mergeApplied(items, liveByElement.get(element), appliedByElement.get(element)))
  }
  let l = 0
  let r = 0
  while (l < left.length || r < right.length) {
    const ours = left[l]
    const theirs = right[r]
    if (ours !== undefined && theirs !== undefined) {
      if (ours === theirs) {
        take(ours)
        l++
        r++
        nextShared++
        continue
      }
      const wanted = shared[nextShared]
      if (appliedByElement.has(ours) && wanted !== undefined && wanted !== ours) {
        // In both, but not the next one in the configuration's order: it is added when the configuration reaches it.
        l++
        continue
      }
    }
    if (ours !== undefined) {
      if (!appliedByElement.has(ours)) {
        merged.push(live[l] as JsonValue)
        l++
        continue
      }
      if (taken.has(ours)) l++
    }
    if (theirs !== undefined) {
      take(theirs)
      r++
      if (shared[nextShared] === theirs) nextShared++
    }
  }
  return merged
}
