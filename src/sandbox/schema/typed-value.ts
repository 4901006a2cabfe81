/** Values with their types, one level at a time: for walks that must not recurse, because clients choose the depth. */

import { isRecord } from "../../is-record.ts"
import type { FieldPath } from "./field-path.ts"
import type { KubernetesType } from "./kubernetes-type.ts"

export interface TypedValue {
  readonly type: KubernetesType
  readonly value: unknown
  /** `undefined` at the root. */
  readonly path: FieldPath | undefined
}

/** The values one level below, in the order of the value, without fields that the type does not have. */
export const membersOf = ({ type, value, path }: TypedValue): TypedValue[] => {
  const { items } = type
  if (Array.isArray(value)) {
    if (type.kind !== "list" || items === undefined) return []
    return value.map((item: unknown, step) => ({ type: items, value: item, path: { parent: path, step } }))
  }
  if (!isRecord(value) || (type.kind !== "map" && type.kind !== "object")) return []
  const members: TypedValue[] = []
  for (const step of Object.keys(value)) {
    const field = type.kind === "map" ? items : type.fields.get(step)
    if (field !== undefined) members.push({ type: field, value: value[step], path: { parent: path, step } })
  }
  return members
}
