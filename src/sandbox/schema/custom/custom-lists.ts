/**
 * The server's requirements for custom objects beyond their schema: items of sets and maps are unique by their keys,
 * embedded resources have `apiVersion` and `kind` (apiextensions-apiserver,
 * pkg/apiserver/schema/{listtype,objectmeta}).
 */

import { duplicate, type FieldError, invalid, required } from "../../../apiserver/answers/field-error.ts"
import { maximumSchemaDepth, type StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"
import { canonicalJson } from "./canonical-json.ts"

type Check = (schema: StructuralSchema, value: unknown, path: string) => FieldError[]

/** Items that occur twice in lists of type `set` or `map`. */
export const checkLists = (schema: StructuralSchema, value: unknown): FieldError[] =>
  everywhere(schema, value, "", 0, (at, inside, path) => {
    const listType = at["x-kubernetes-list-type"]
    if (!Array.isArray(inside) || listType === undefined || listType === "atomic") return []
    if (listType === "set") return repeated(inside, path)
    const stranger = inside.findIndex((item) => item !== null && !isRecord(item))
    if (stranger >= 0)
      return [invalid(`${path}[${stranger}]`, inside[stranger], "must be an object for an array of list-type map")]
    const keys = at["x-kubernetes-list-map-keys"] ?? []
    return repeated(
      inside.map((item) => (isRecord(item) ? pick(item, keys) : {})),
      path,
    )
  })

/** Embedded resources without `apiVersion` or `kind`. */
export const checkEmbeddedResources = (schema: StructuralSchema, value: unknown): FieldError[] =>
  everywhere(schema, value, "", 0, (at, inside, path) => {
    if (at["x-kubernetes-embedded-resource"] !== true || !isRecord(inside)) return []
    return ["apiVersion", "kind"].flatMap((name) => typeMetaProblems(memberOf(inside, name), `${path}.${name}`))
  })

const typeMetaProblems = (value: unknown, field: string): FieldError[] => {
  if (value === undefined) return [required(field)]
  if (typeof value !== "string") return [invalid(field, value, "must be a string")]
  return value === "" ? [invalid(field, value, "must not be empty")] : []
}

/** The second occurrence of each item that occurs more than once. */
const repeated = (items: ReadonlyArray<unknown>, path: string): FieldError[] => {
  const times = new Map<string, number>()
  const problems: FieldError[] = []
  for (const [index, item] of items.entries()) {
    const text = canonicalJson(item)
    const before = times.get(text) ?? 0
    times.set(text, before + 1)
    if (before === 1) problems.push(duplicate(`${path}[${index}]`, item))
  }
  return problems
}

const pick = (item: Readonly<Record<string, unknown>>, keys: ReadonlyArray<string>): Record<string, unknown> =>
  Object.fromEntries(keys.filter((key) => Object.hasOwn(item, key)).map((key) => [key, item[key]]))

const everywhere = (
  schema: StructuralSchema,
  value: unknown,
  path: string,
  depth: number,
  check: Check,
): FieldError[] => {
  if (depth > maximumSchemaDepth) return []
  const problems = check(schema, value, path)
  const { items, additionalProperties } = schema
  if (Array.isArray(value) && items !== undefined) {
    for (const [index, item] of value.entries())
      problems.push(...everywhere(items, item, `${path}[${index}]`, depth + 1, check))
  } else if (isRecord(value)) {
    for (const name of Object.keys(value).sort()) {
      const properties = schema.properties ?? {}
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      const below = path === "" ? name : `${path}.${name}`
      if (property !== undefined) problems.push(...everywhere(property, value[name], below, depth + 1, check))
      else if (isRecord(additionalProperties))
        problems.push(...everywhere(additionalProperties, value[name], `${path}[${name}]`, depth + 1, check))
    }
  }
  return problems
}
