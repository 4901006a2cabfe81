/**
 * The type of an expression's `self` by its schema. What a schema says nothing about has no type and cannot be named: fields that are
 * only preserved, and of the metadata everything but the names.
 */

import { maximumSchemaDepth, type StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"
import { bool, type CelType, dyn, int, listOf, mapOf, simple, string } from "../../cel/types.ts"
import { escapedName } from "./escaped-names.ts"

const text: StructuralSchema = { type: "string" }

/** The schema of a whole resource, with the fields that every one has. One that describes the names itself is left as it is. */
export const asResource = (schema: StructuralSchema): StructuralSchema => {
  const { apiVersion, kind, metadata } = schema.properties ?? {}
  const names = [apiVersion, kind, metadata?.properties?.name, metadata?.properties?.generateName]
  if (metadata?.type === "object" && names.every((name) => name?.type === "string")) return schema
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: text,
      kind: text,
      metadata: { type: "object", properties: { name: text, generateName: text } },
    },
  }
}

export const isEmbedded = (schema: StructuralSchema): boolean => schema["x-kubernetes-embedded-resource"] === true

/** `undefined` for a value that expressions cannot see. Objects are named by their path, which makes their types distinct. */
export const declaredType = (
  given: StructuralSchema,
  isResource: boolean,
  name = "self",
  depth = 0,
): CelType | undefined => {
  if (depth > maximumSchemaDepth) return undefined
  if (given["x-kubernetes-int-or-string"] === true) return dyn
  const schema = isResource ? asResource(given) : given
  const inner = (child: StructuralSchema, step: string): CelType | undefined =>
    declaredType(child, isEmbedded(child), `${name}.${step}`, depth + 1)
  switch (schema.type) {
    case "array": {
      const item = schema.items === undefined ? undefined : inner(schema.items, "@items")
      return item && listOf(item)
    }
    case "object": {
      const { additionalProperties } = schema
      if (isRecord(additionalProperties)) {
        const value = inner(additionalProperties, "@values")
        return value && mapOf(string, value)
      }
      const fields = new Map<string, CelType>()
      for (const [property, child] of Object.entries(schema.properties ?? {})) {
        const type = inner(child, property)
        const escaped = escapedName(property)
        if (type !== undefined && escaped !== undefined) fields.set(escaped, type)
      }
      return { kind: "object", name, fields }
    }
    case "string":
      return formatTypes.get(schema.format ?? "") ?? string
    case "boolean":
      return bool
    case "number":
      return simple("double")
    case "integer":
      return int
    default:
      return undefined
  }
}

const formatTypes: ReadonlyMap<string, CelType> = new Map([
  ["byte", simple("bytes")],
  ["duration", simple("duration")],
  ["date", simple("timestamp")],
  ["date-time", simple("timestamp")],
])
