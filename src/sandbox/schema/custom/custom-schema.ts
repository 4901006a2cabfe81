/**
 * Custom kinds: a version's `openAPIV3Schema` as a {@link KubernetesType}, and objects against it.
 *
 * Guaranteed: `apiVersion`, `kind` and `metadata` have the server's own types whatever the schema says, at the root and
 * in embedded resources. The schema is assumed to be accepted by the server; non-structural parts are ignored.
 */

import {
  duplicate,
  type FieldError,
  invalid,
  maximumSchemaDepth,
  required,
  type StructuralSchema,
} from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"
import { objectMetaType } from "../catalogue.ts"
import { type KubernetesType, makeType } from "../kubernetes-type.ts"
import { Correlation, canonicalJson } from "./correlation.ts"
import { checkSchema } from "./custom-validation.ts"

// The server's requirements for custom objects beyond their schema: items of sets and maps are unique by their keys,
// embedded resources have `apiVersion` and `kind` (apiextensions-apiserver,
// pkg/apiserver/schema/{listtype,objectmeta}).

type Check = (schema: StructuralSchema, value: unknown, path: string) => FieldError[]

/** Items that occur twice in lists of type `set` or `map`. */
const checkLists = (schema: StructuralSchema, value: unknown): FieldError[] =>
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
const checkEmbeddedResources = (schema: StructuralSchema, value: unknown): FieldError[] =>
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

const plainString = makeType("string")
const anything = makeType("any", { keepsUnknown: true, isNullable: true })

/** The type of a custom kind's version. An absent schema allows any fields. */
export const customType = (schema: StructuralSchema | undefined): KubernetesType =>
  convertObject(schema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true }, true, 0)

/**
 * The errors of an object of a custom kind by its schema, rules aside; empty for a valid one. Prune, drop nulls and fill in defaults
 * first, as the server does. Problems are sorted by field name at each level; the server's order is random. `old` is the object
 * that is replaced, whose problems are forgiven as far as the new one still has the same values.
 */
export const checkCustomValue = (
  schema: StructuralSchema | undefined,
  object: unknown,
  old?: unknown,
): ReadonlyArray<FieldError> => {
  if (schema === undefined) return []
  const correlated = old === undefined ? undefined : new Correlation(object, old, schema)
  const hadRepetitions = old !== undefined && checkLists(schema, old).length > 0
  return [
    ...checkSchema(schema, object, "", 0, correlated),
    ...checkEmbeddedResources(schema, object),
    ...(hadRepetitions ? [] : checkLists(schema, object)),
  ]
}

const convert = (schema: StructuralSchema, depth: number): KubernetesType => {
  if (depth > maximumSchemaDepth) return anything
  const common = commonRules(schema)
  if (schema["x-kubernetes-int-or-string"] === true) return makeType("int-or-string", common)
  switch (schema.type) {
    case "array": {
      const keys = schema["x-kubernetes-list-map-keys"] ?? []
      const items = schema.items === undefined ? anything : convert(schema.items, depth + 1)
      const defaults = keys.map((key) => [key, schema.items?.properties?.[key]?.default] as const)
      return makeType("list", {
        ...common,
        items,
        listType: schema["x-kubernetes-list-type"] ?? "atomic",
        listMapKeys: keys,
        keyDefaults: new Map(defaults.filter(([, value]) => value !== undefined)),
      })
    }
    case "string":
    case "integer":
    case "number":
    case "boolean":
      return makeType(schema.type, common)
    case "object":
      return convertObject(schema, schema["x-kubernetes-embedded-resource"] === true, depth)
    default: {
      const isObject = schema.properties !== undefined || schema["x-kubernetes-embedded-resource"] === true
      return isObject
        ? convertObject(schema, schema["x-kubernetes-embedded-resource"] === true, depth)
        : { ...anything, ...common }
    }
  }
}

const convertObject = (schema: StructuralSchema, isResource: boolean, depth: number): KubernetesType => {
  const common = commonRules(schema)
  const { additionalProperties } = schema
  if (additionalProperties !== undefined && additionalProperties !== false && !isResource) {
    const items = isRecord(additionalProperties) ? convert(additionalProperties, depth + 1) : anything
    return makeType("map", { ...common, items })
  }
  const fields = new Map<string, KubernetesType>()
  for (const [name, property] of Object.entries(schema.properties ?? {})) fields.set(name, convert(property, depth + 1))
  if (isResource) {
    fields.set("apiVersion", plainString)
    fields.set("kind", plainString)
    fields.set("metadata", objectMetaType())
  }
  return makeType("object", { ...common, fields, required: schema.required ?? [] })
}

const commonRules = (schema: StructuralSchema): Partial<KubernetesType> => ({
  isAtomic: schema["x-kubernetes-map-type"] === "atomic",
  keepsUnknown: schema["x-kubernetes-preserve-unknown-fields"] === true,
  isNullable: schema.nullable === true,
  default: schema.default,
})
