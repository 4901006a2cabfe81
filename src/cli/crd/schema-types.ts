/**
 * TypeScript types for the structural OpenAPI schemas of CustomResourceDefinitions, as text.
 *
 * Guaranteed: every value that the server serves for the schema has the type; the text is valid TypeScript whatever the schema. Members are read-only, because
 * objects come from a shared cache. `Record` is not used, since kinds are called so.
 *
 * What is only validation is not in the types: patterns, bounds, `oneOf`, CEL rules. A member with a default is optional although the server fills it in,
 * because one who creates an object need not give it.
 */

import { isRecord } from "../../is-record.ts"

type Schema = Readonly<Record<string, unknown>>

/** The type of a value. `indent`: that of the line on which the type begins. `embedded`: the type of complete objects inside. */
export const typeOf = (given: unknown, indent: string, embedded: string): string => {
  const schema: Schema = isRecord(given) ? given : {}
  const type = baseTypeOf(schema, indent, embedded)
  return schema.nullable === true && type !== "unknown" && !/(?:^|\| )null$/.test(type) ? `${type} | null` : type
}

const baseTypeOf = (schema: Schema, indent: string, embedded: string): string => {
  // Of built-in kinds, whose script puts the name of a type there; a CustomResourceDefinition has no references.
  if (typeof schema.$ref === "string") return schema.$ref
  if (schema["x-kubernetes-int-or-string"] === true) return "number | string"
  if (schema["x-kubernetes-embedded-resource"] === true) return embedded
  if (Array.isArray(schema.enum) && schema.enum.length > 0)
    return [...new Set(schema.enum.map((value) => literalOf(value)))].join(" | ")
  switch (schema.type) {
    case "string":
    case "boolean":
      return schema.type
    case "integer":
    case "number":
      return "number"
    case "array":
      return `ReadonlyArray<${typeOf(schema.items, indent, embedded)}>`
    case "object":
      return objectTypeOf(schema, indent, embedded)
    default:
      return isRecord(schema.properties) ? objectTypeOf(schema, indent, embedded) : "unknown"
  }
}

/** Objects and lists among the values of an enum are rare enough for `unknown`. */
const literalOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? "unknown" : (JSON.stringify(value) ?? "unknown")

const objectTypeOf = (schema: Schema, indent: string, embedded: string): string => {
  const { properties, additionalProperties } = schema
  const members = isRecord(properties) ? membersOf(schema, properties, `${indent}  `, embedded) : []
  const keepsUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true
  const isMap = isRecord(additionalProperties) || additionalProperties === true
  if (members.length === 0 && isMap)
    return `{ readonly [key: string]: ${typeOf(additionalProperties, indent, embedded)} }`
  if (keepsUnknown || isMap) members.push(`${indent}  readonly [member: string]: unknown`)
  // The server prunes whatever is not in the schema.
  return members.length === 0 ? "{ readonly [key: string]: never }" : `{\n${members.join("\n")}\n${indent}}`
}

/** The lines of an object's members, each with its comment. */
export const membersOf = (schema: Schema, properties: Schema, indent: string, embedded: string): string[] => {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  return Object.entries(properties).map(([name, member]) => {
    const type = typeOf(member, indent, embedded)
    const optional = required.has(name) ? "" : "?"
    const orAbsent = required.has(name) || type === "unknown" ? "" : " | undefined"
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
    return `${commentOf(member, indent)}${indent}readonly ${key}${optional}: ${type}${orAbsent}`
  })
}

/** The description, and the default, as a doc comment; the empty string without them. */
export const commentOf = (given: unknown, indent: string): string => {
  const { description, default: fallback }: Schema = isRecord(given) ? given : {}
  const text = typeof description === "string" ? description.trim().split(/\r\n|[\n\r\u2028\u2029]/) : []
  const lines = text.map((line) => line.trimEnd()).filter((line, index) => line !== "" || index > 0)
  if (fallback !== undefined) lines.push(`Default: ${JSON.stringify(fallback)}`)
  const safe = lines.map((line) => line.replaceAll("*/", "*\\/"))
  if (safe.length === 0) return ""
  if (safe.length === 1) return `${indent}/** ${safe[0]} */\n`
  return `${indent}/**\n${safe.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`
}
