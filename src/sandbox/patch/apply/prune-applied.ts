/**
 * Removes from a merged object what a manager applied last time and no longer applies, unless another manager owns it
 * too.
 */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import type { JsonObject } from "../json/json-value.ts"
import {
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
import { itemType, memberType } from "../managed-fields/type-walk.ts"
import { removeFields } from "./remove-fields.ts"

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

const namedChildren = (type: KubernetesType | undefined, node: FieldSet): Array<readonly [string, FieldSet]> => {
  const children: Array<readonly [string, FieldSet]> = []
  for (const element in node) {
    if (element === SELF) continue
    const child = node[element] as FieldSet
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
