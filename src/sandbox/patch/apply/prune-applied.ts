/**
 * Removes from a merged object what a manager applied last time and no longer applies, unless another manager owns it
 * too.
 */

import { setMember } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonObjectDraft, type JsonValue } from "../json/json-value.ts"
import {
  type Children,
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  nodeOf,
  ownsBelow,
  ownsItself,
  SELF,
  union,
} from "../managed-fields/field-set.ts"
import { fieldsOf } from "../managed-fields/fields-of.ts"
import { fieldElement } from "../managed-fields/path-element.ts"
import { anyType, itemElement, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"

// Removes the fields of a set from a value, and containers that become empty.

/** `undefined` if nothing is left. */
const removeFields = (type: KubernetesType, value: JsonValue, fields: FieldSet): JsonValue | undefined => {
  const shape = shapeOf(type, value)
  if (shape === "map" && isJsonObject(value)) {
    const kept: JsonObjectDraft = {}
    let any = false
    for (const [key, member] of Object.entries(value)) {
      const rest = keptOf(memberType(type, key) ?? anyType, member, fields[fieldElement(key)])
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

interface Pruning {
  readonly type: KubernetesType
  readonly merged: JsonObject
  /** The fields that the manager applied last time. */
  readonly last: FieldSet
  /** The fields that any manager owns now, including this one with its new configuration. */
  readonly owned: FieldSet
}

export const pruneApplied = ({ type, merged, last, owned }: Pruning): JsonObject => {
  // Every field of last time is still owned: the usual case, and the walk below would change nothing.
  if (isEmptySet(difference(last, owned))) return merged
  const withNames = (set: FieldSet): FieldSet => withNamedFields(type, set)
  const mergedFields = withNames(fieldsOf(type, merged))
  const lastFields = withNames(last)
  const pruned = without(type, merged, lastFields)
  // Owned fields are restored, with all their parents.
  const unowned = difference(mergedFields, union(withNames(fieldsOf(type, pruned)), withNames(owned)))
  const restored = without(type, merged, unowned)
  // So are fields that were removed along with others although the manager never applied them.
  const gone = difference(mergedFields, withNames(fieldsOf(type, restored)))
  return without(type, merged, intersection(gone, lastFields))
}

const without = (type: KubernetesType, object: JsonObject, fields: FieldSet): JsonObject =>
  isEmptySet(fields) ? object : ((removeFields(type, object, fields) ?? {}) as JsonObject)

/** The set, with the named fields that contain others of it: those are removed with their contents. */
const withNamedFields = (type: KubernetesType | undefined, set: FieldSet): FieldSet =>
  nodeOf(namedChildren(type, set), false) ?? set

const namedChildren = (type: KubernetesType | undefined, node: FieldSet): Children => {
  const children: Children = []
  for (const [element, child] of Object.entries(node)) {
    if (element === SELF) continue
    if (!ownsBelow(child)) {
      children.push([element, child])
      continue
    }
    const name = element.startsWith("f:") ? element.slice(2) : undefined
    const isNamed = name !== undefined && type?.fields.has(name) === true
    const below = type === undefined ? undefined : typeBelow(type, name)
    const named = nodeOf(namedChildren(below, child), isNamed || ownsItself(child))
    if (named !== undefined) children.push([element, named])
  }
  return children
}

const typeBelow = (type: KubernetesType, field: string | undefined): KubernetesType | undefined => {
  if (field !== undefined) return memberType(type, field)
  return type.kind === "list" ? itemType(type) : undefined
}
