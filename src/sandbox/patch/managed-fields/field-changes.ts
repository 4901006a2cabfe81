/**
 * The differences of two states of an object, as field sets. Walks both at once and descends only where they differ;
 * parts that are identical by reference cost nothing.
 */

import { memberOf } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isEqualJson, isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts"
import { type Children, type FieldSet, leaf, nodeOf, owningItself } from "./field-set.ts"
import { membersSubtree, wholeSubtree } from "./fields-of.ts"
import { fieldElement } from "./path-element.ts"
import { isEmptyMap, itemElement, itemType, memberType, shapeOf } from "./type-walk.ts"

export interface FieldChanges {
  /** Fields that were added or got another value. */
  readonly touched: FieldSet
  /** Fields that are gone. */
  readonly removed: FieldSet
}

interface Difference {
  readonly touched: FieldSet | undefined
  readonly removed: FieldSet | undefined
}

const LEAF_TOUCHED: Difference = { touched: leaf, removed: undefined }

/** Metadata that the server writes and no manager owns (its "strip set"); its changes are ignored. */
const UNOWNED_METADATA: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
])

/** Without `apiVersion`, `kind` and unowned metadata; `undefined` if nothing that can be owned changed. */
export const fieldChanges = (type: KubernetesType, before: JsonObject, after: JsonObject): FieldChanges | undefined => {
  const touched: Children = []
  const removed: Children = []
  compareMembers(type, before, after, touched, removed, isUnownedAtRoot)
  const metadataType = memberType(type, "metadata")
  const afterMetadata = memberOf(after, "metadata")
  const beforeMetadata = memberOf(before, "metadata")
  if (metadataType !== undefined && beforeMetadata !== afterMetadata) {
    const below: { touched: Children; removed: Children } = { touched: [], removed: [] }
    compareMembers(
      metadataType,
      isJsonObject(beforeMetadata) ? beforeMetadata : undefined,
      isJsonObject(afterMetadata) ? afterMetadata : undefined,
      below.touched,
      below.removed,
      isUnownedInMetadata,
    )
    addNode(touched, METADATA, nodeOf(below.touched, false))
    addNode(removed, METADATA, nodeOf(below.removed, false))
  }
  if (touched.length === 0 && removed.length === 0) return undefined
  return { touched: nodeOf(touched, false) ?? leaf, removed: nodeOf(removed, false) ?? leaf }
}

const METADATA = fieldElement("metadata")

const addNode = (children: Children, element: string, node: FieldSet | undefined): void => {
  if (node !== undefined) children.push([element, node])
}

const isUnownedAtRoot = (key: string): boolean => key === "apiVersion" || key === "kind" || key === "metadata"
const isUnownedInMetadata = (key: string): boolean => UNOWNED_METADATA.has(key)
const none = (): boolean => false

const compareValues = (type: KubernetesType, before: JsonValue, after: JsonValue): Difference | undefined => {
  if (before === after) return undefined
  const shape = shapeOf(type, after)
  if (type.kind === "any" && !type.isAtomic) {
    const shapeBefore = shapeOf(type, before)
    if (shapeBefore !== shape) return comparedShapes(type, before, after)
  }
  if (shape === "leaf") return isEqualJson(before, after) ? undefined : LEAF_TOUCHED
  return shape === "map" ? compareMaps(type, before, after) : compareLists(type, before, after)
}

/** Compares values without a schema of which one is an object and the other is not. */
const comparedShapes = (type: KubernetesType, before: JsonValue, after: JsonValue): Difference => {
  if (isJsonObject(before)) return { touched: leaf, removed: membersSubtree(type, before) }
  return { touched: owningItself(membersSubtree(type, after)), removed: undefined }
}

const compareMaps = (type: KubernetesType, before: JsonValue, after: JsonValue): Difference | undefined => {
  const left = isJsonObject(before) ? before : undefined
  const right = isJsonObject(after) ? after : undefined
  // Both are empty: a leaf, so that `{}` and `null` stay distinct.
  if (isEmptyMap(left) && isEmptyMap(right)) return isEqualJson(before, after) ? undefined : LEAF_TOUCHED
  const touched: Children = []
  const removed: Children = []
  compareMembers(type, left, right, touched, removed, none)
  return differenceOf(touched, removed)
}

const differenceOf = (touched: Children, removed: Children): Difference | undefined =>
  touched.length === 0 && removed.length === 0
    ? undefined
    : { touched: nodeOf(touched, false), removed: nodeOf(removed, false) }

const compareMembers = (
  type: KubernetesType,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  touched: Children,
  removed: Children,
  isIgnored: (key: string) => boolean,
): void => {
  if (after !== undefined) {
    for (const key in after) {
      const value = after[key]
      const old = before === undefined ? undefined : memberOf(before, key)
      if (value === undefined || old === value || isIgnored(key)) continue
      const known = memberType(type, key)
      if (known === undefined) continue
      if (old === undefined) {
        touched.push([fieldElement(key), wholeSubtree(known, value)])
        continue
      }
      const change = compareValues(known, old, value)
      if (change === undefined) continue
      addNode(touched, fieldElement(key), change.touched)
      addNode(removed, fieldElement(key), change.removed)
    }
  }
  if (before === undefined) return
  for (const key in before) {
    if ((after !== undefined && Object.hasOwn(after, key)) || isIgnored(key)) continue
    const known = memberType(type, key)
    const value = before[key]
    if (known !== undefined && value !== undefined) removed.push([fieldElement(key), wholeSubtree(known, value)])
  }
}

const compareLists = (type: KubernetesType, before: JsonValue, after: JsonValue): Difference | undefined => {
  const left = isJsonArray(before) ? before : []
  const right = isJsonArray(after) ? after : []
  if (isEqualJson(before, after)) return undefined
  if (left.length === 0 && right.length === 0) return LEAF_TOUCHED
  const items = itemType(type)
  const leftItems = byElement(type, left)
  const rightItems = byElement(type, right)
  const touched: Children = []
  const removed: Children = []
  // Duplicates are owned as one, with nothing below.
  const whole = ([item, ...others]: Items): FieldSet => (others.length > 0 ? leaf : wholeSubtree(items, item))
  for (const [element, mine] of leftItems) {
    const theirs = rightItems.get(element)
    if (theirs === undefined) removed.push([element, whole(mine)])
    else if (mine.length > 1 && theirs.length > 1) {
      if (!isEqualJson(mine, theirs)) touched.push([element, leaf])
    } else if (mine.length > 1 || theirs.length > 1) {
      // No longer a duplicate, or one since now: all parts of the one are owned, or no longer.
      touched.push([element, whole(theirs)])
      removed.push([element, whole(mine)])
    } else {
      const change = compareValues(items, mine[0], theirs[0])
      if (change === undefined) continue
      addNode(touched, element, change.touched)
      addNode(removed, element, change.removed)
    }
  }
  for (const [element, theirs] of rightItems) if (!leftItems.has(element)) touched.push([element, whole(theirs)])
  return differenceOf(touched, removed)
}

type Items = readonly [JsonValue, ...JsonValue[]]

/** Items by path element; duplicates together, in their order. Items without an element have no owner. */
const byElement = (type: KubernetesType, list: ReadonlyArray<JsonValue>): Map<string, Items> => {
  const items = new Map<string, Items>()
  for (const item of list) {
    const element = itemElement(type, item)
    if (element === undefined) continue
    const others = items.get(element)
    items.set(element, others === undefined ? [item] : [...others, item])
  }
  return items
}
