/**
 * Fills in the defaults of a type as the server does for structural schemas: an absent field gets its default, and so
 * does a null in a field that is not nullable; then the same on the levels below, including the values just filled in.
 *
 * For built-in kinds OpenAPI states only what Go's zero values look like in JSON (`"resources": {}`, `"name": ""`) and a few
 * real defaults (`protocol: TCP`); it does not state those that the server computes (`strategy`,
 * `terminationGracePeriodSeconds`).
 */

import { isRecord } from "../../../is-record.ts"
import { memberOf, setMember } from "../../../own-member.ts"
import type { KubernetesType } from "../kubernetes-type.ts"

/** Fills defaults into `value`, in place. Linear, without recursion; values of unexpected types are left alone. */
export const applySchemaDefaults = (type: KubernetesType, value: unknown): void => {
  walk(type, value, (record, key, field) => {
    if (field.default === undefined) return
    const current = memberOf(record, key)
    const isMissing = !Object.hasOwn(record, key) || (current === null && !isNullable(field))
    if (isMissing) setMember(record, key, copyJson(field.default))
  })
}

/**
 * Removes nulls from fields that are not nullable and have no default, in place: the server does so to custom objects before
 * it fills in defaults.
 */
export const dropNulls = (type: KubernetesType, value: unknown): void => {
  walk(type, value, (record, key, field) => {
    if (memberOf(record, key) === null && !field.isNullable && field.default === undefined) delete record[key]
  })
}

/** Built-in kinds accept null for everything, as the zero value, which is their default. */
const isNullable = (type: KubernetesType): boolean => type.isNullable && !("goType" in type)

const walk = (
  type: KubernetesType,
  value: unknown,
  visitField: (record: Record<string, unknown>, key: string, field: KubernetesType) => void,
): void => {
  const open: Array<[KubernetesType, unknown]> = [[type, value]]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [at, inside] = next
    const { items } = at
    if (Array.isArray(inside)) {
      if (items === undefined) continue
      for (const [index, item] of inside.entries()) {
        if (item === null && items.default !== undefined && !isNullable(items)) inside[index] = copyJson(items.default)
        open.push([items, inside[index]])
      }
    } else if (isRecord(inside)) {
      for (const [key, field] of at.fields) visitField(inside, key, field)
      if (items !== undefined)
        for (const key of Object.keys(inside)) if (!at.fields.has(key)) visitItem(inside, key, items, visitField)
      for (const key of Object.keys(inside)) {
        const field = at.fields.get(key) ?? items
        if (field !== undefined) open.push([field, inside[key]])
      }
    }
  }
}

/** The value of a map: only a null is ever replaced, because an absent key is not a missing field. */
const visitItem = (
  record: Record<string, unknown>,
  key: string,
  items: KubernetesType,
  visitField: (record: Record<string, unknown>, key: string, field: KubernetesType) => void,
): void => {
  if (record[key] === null) visitField(record, key, items)
}

/** Defaults are only as deep as a schema's author wrote them, so this recursion is short. */
const copyJson = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copyJson)
  if (!isRecord(value)) return value
  const copy: Record<string, unknown> = {}
  for (const [key, item] of Object.entries(value)) setMember(copy, key, copyJson(item))
  return copy
}
