/** The fields of a value: those that an applied configuration owns, and those of a subtree that is added or removed as a whole. */

import { isEmptyObject } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts"
import { type Children, type FieldSet, leaf, nodeOf, owningItself } from "./field-set.ts"
import { fieldElement } from "./path-element.ts"
import { itemElement, itemType, memberType, shapeOf } from "./type-walk.ts"

/**
 * The fields of a configuration: its leaves, the items of its lists and the keys of its maps. Named fields that
 * contain others are not among them, so that `spec` as such has no owner.
 */
export const fieldsOf = (type: KubernetesType, value: JsonValue): FieldSet => {
  const node = configuredNode(type, value)
  return node === undefined ? leaf : node
}

const configuredNode = (type: KubernetesType, value: JsonValue): FieldSet | undefined => {
  const shape = shapeOf(type, value)
  if (shape === "leaf") return leaf
  const children: Children = []
  if (shape === "map") {
    if (!isJsonObject(value)) return undefined
    for (const [key, member] of Object.entries(value)) {
      const known = memberType(type, key)
      if (known === undefined) continue
      const node = configuredNode(known, member)
      const itself = member === null || !type.fields.has(key) || (isJsonObject(member) && isEmptyObject(member))
      const owned = itself ? owningItself(node) : node
      if (owned !== undefined) children.push([fieldElement(key), owned])
    }
  } else {
    if (!isJsonArray(value)) return undefined
    const items = itemType(type)
    const seen = new Map<string, FieldSet>()
    for (const item of value) {
      const element = itemElement(type, item)
      if (element === undefined) continue
      seen.set(element, seen.has(element) ? leaf : owningItself(configuredNode(items, item)))
    }
    children.push(...seen)
  }
  return nodeOf(children, false)
}

/** The fields of a subtree that is added or removed as a whole: every field in it, including those that contain others. */
export const wholeSubtree = (type: KubernetesType, value: JsonValue): FieldSet => {
  const shape = shapeOf(type, value)
  if (shape === "leaf") return leaf
  return owningItself(shape === "map" ? membersSubtree(type, value) : itemsSubtree(type, value))
}

/** The fields below a map or object that is added or removed, without itself. */
export const membersSubtree = (type: KubernetesType, value: JsonValue): FieldSet | undefined => {
  if (!isJsonObject(value)) return undefined
  const children: Children = []
  for (const [key, member] of Object.entries(value)) {
    const known = memberType(type, key)
    if (known !== undefined) children.push([fieldElement(key), wholeSubtree(known, member)])
  }
  return nodeOf(children, false)
}

const itemsSubtree = (type: KubernetesType, value: JsonValue): FieldSet | undefined => {
  if (!isJsonArray(value)) return undefined
  const items = itemType(type)
  const seen = new Map<string, FieldSet>()
  for (const item of value) {
    const element = itemElement(type, item)
    // Duplicate items are owned as one.
    if (element !== undefined) seen.set(element, seen.has(element) ? leaf : wholeSubtree(items, item))
  }
  return nodeOf([...seen], false)
}
