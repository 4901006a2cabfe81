/**
 * A `Schema` as the structural OpenAPI v3 schema of a CustomResourceDefinition.
 *
 * `Schema` writes JSON Schema of 2020. The API server wants OpenAPI 3.0: `nullable` instead of a type `null`, exclusive bounds as booleans, one object instead of
 * `allOf`, and nothing about properties that it does not know. What has no counterpart there is a defect of the schema and throws at once, so that a definition is never wrong
 * without a word.
 */
import * as Schema from "effect/Schema"

/** Annotations of `Schema` whose names begin with `x-kubernetes-` are kept. Throws an Error for a schema that the API server could not have. */
export const structuralSchema = (schema: Schema.Constraint): Schema.JsonObject => {
  const { schema: converted } = Schema.toJsonSchemaDocument(schema, {
    includeAnnotationKey: (key) => key.startsWith("x-kubernetes-"),
  })
  return structural(converted as Schema.JsonObject, "")
}

type Keyword = (value: Schema.Json, path: string) => Schema.JsonObject

const asItIs =
  (key: string): Keyword =>
  (value) => ({ [key]: value })

const keywords: Readonly<Record<string, Keyword>> = {
  ...Object.fromEntries(
    [
      "type",
      "description",
      "format",
      "default",
      "enum",
      "required",
      "minimum",
      "maximum",
      "minLength",
      "maxLength",
      "minItems",
      "maxItems",
    ].map((key) => [key, asItIs(key)]),
  ),
  exclusiveMinimum: (minimum) => ({ minimum, exclusiveMinimum: true }),
  properties: (properties, path) => ({
    properties: Object.fromEntries(
      Object.entries(properties as Schema.JsonObject).map(([name, each]) => [
        name,
        structural(each as Schema.JsonObject, `${path}.${name}`),
      ]),
    ),
  }),
  items: (items, path) => ({ items: structural(items as Schema.JsonObject, `${path}[]`) }),
  // `true` is what a structural schema means anyway: what it does not mention is removed.
  additionalProperties: (value, path) =>
    typeof value === "boolean" ? {} : { additionalProperties: structural(value as Schema.JsonObject, `${path}[]`) },
  allOf: (parts, path) =>
    merged(
      (parts as ReadonlyArray<Schema.JsonObject>).map((part) => structural(part, path)),
      path,
    ),
  anyOf: (alternatives, path) => {
    const [value, none, ...others] = alternatives as ReadonlyArray<Schema.JsonObject>
    if (value === undefined || none?.type !== "null" || others.length > 0) throw unsupported("anyOf", path)
    // The server would look a null up in the enum, and kubectl refuses an enum with a null in it.
    if (value.enum !== undefined) throw unsupported("an enum that may be null", path)
    return { ...structural(value, path), nullable: true }
  },
}

const structural = (schema: Schema.JsonObject, path: string): Schema.JsonObject =>
  merged(
    Object.entries(schema).map(([key, value]) => {
      if (key.startsWith("x-kubernetes-")) return { [key]: value }
      const keyword = Object.hasOwn(keywords, key) ? keywords[key] : undefined
      if (keyword === undefined) throw unsupported(key, path)
      return keyword(value, path)
    }),
    path,
  )

/** Of two bounds the tighter one counts: `Schema.Int` has bounds of its own. */
const tighter: Readonly<Record<string, (one: number, other: number) => number>> = {
  minimum: Math.max,
  maximum: Math.min,
}

const merged = (parts: ReadonlyArray<Schema.JsonObject>, path: string): Schema.JsonObject => {
  const isExclusive = parts.some((part) => part.exclusiveMinimum === true)
  const all: Record<string, Schema.Json> = {}
  for (const [key, value] of parts.flatMap((part) => Object.entries(part))) {
    const before = all[key]
    const bound = isExclusive ? undefined : tighter[key]
    if (before === undefined || before === value) all[key] = value
    else if (bound !== undefined) all[key] = bound(Number(before), Number(value))
    else throw unsupported(`two values of ${key}`, path)
  }
  return all
}

const unsupported = (what: string, path: string): Error =>
  new Error(`no structural schema can have ${what} at ${path === "" ? "its root" : path}`)
