/** Removes the fields of a set from a value, and containers that become empty. */

import { setMember } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObjectDraft, type JsonValue } from "../json/json-value.ts"
import { type FieldSet, ownsBelow, ownsItself } from "../managed-fields/field-set.ts"
import { fieldElement } from "../managed-fields/path-element.ts"
import { anyType, itemElement, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"

/** `undefined` if nothing is left. */
export const removeFields = (type: KubernetesType, value: JsonValue, fields: FieldSet): JsonValue | undefined => {
  const shape = shapeOf(type, value)
  if (shape === "map" && isJsonObject(value)) {
    const kept: JsonObjectDraft = {}
    let any = false
    for (const key of Object.keys(value)) {
      const rest = keptOf(memberType(type, key) ?? anyType, value[key] as JsonValue, fields[fieldElement(key)])
      if (rest === undefined) continue
      setMember(kept, key, rest)
      any = true
    }
    return any ? kept : undefined
  }
  if (shape === "list" && isJsonArray(value)) {
    const items = itemType(type)
    const kept: JsonValue[] = []
    for (const item of value) {
      const element = itemElement(type, item)
      const rest = keptOf(items, item, element === undefined ? undefined : fields[element])
      if (rest !== undefined) kept.push(rest)
    }
    return kept.length === 0 ? undefined : kept
  }
  // Below an atomic value nothing is owned: a set with such fields was written before the value became atomic.
  return typeof value === "object" ? undefined : value
}

const keptOf = (type: KubernetesType, value: JsonValue, node: FieldSet | undefined): JsonValue | undefined => {
  if (node === undefined) return value
  if (ownsItself(node)) return undefined
  return ownsBelow(node) ? removeFields(type, value, node) : value
}
