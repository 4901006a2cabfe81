/**
 * The errors of a CustomResourceDefinition's schema: missing or unknown types, lists without items, invalid patterns, defaults that
 * violate the schema (apiextensions-apiserver, pkg/apiserver/schema and its defaulting).
 *
 * Not checked: value validations under `anyOf` and the like, warnings. Rules are checked in `../validations/rule-problems.ts`. Properties are sorted; the server's order
 * is random.
 */

import {
  type FieldError,
  invalid,
  maximumSchemaDepth,
  notSupported,
  required,
  type StructuralSchema,
} from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { compilePattern } from "../pattern.ts"
import { checkSchema } from "./custom-validation.ts"

type Level = "root" | "field" | "item"

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  field: "must not be empty for specified object fields",
  item: "must not be empty for specified array items",
}

const types = ["array", "boolean", "integer", "number", "object", "string"]

/** `field` is the path of the schema: `spec.validation.openAPIV3Schema`. */
export const structuralProblems = (schema: StructuralSchema, field: string): ReadonlyArray<FieldError> =>
  problemsAt(schema, field, "root", 0)

const problemsAt = (schema: StructuralSchema, field: string, level: Level, depth: number): FieldError[] => {
  if (depth > maximumSchemaDepth) return []
  const { items, additionalProperties, properties = {} } = schema
  const found: FieldError[] = []
  if (isRecord(items)) found.push(...problemsAt(items, `${field}.items`, "item", depth + 1))
  for (const name of Object.keys(properties).sort())
    found.push(...problemsAt(properties[name] ?? {}, `${field}.properties[${name}]`, "field", depth + 1))
  if (isRecord(additionalProperties))
    found.push(...problemsAt(additionalProperties, `${field}.additionalProperties`, "field", depth + 1))
  found.push(...typeProblems(schema, `${field}.type`, level))
  if (schema.type === "array" && items === undefined) found.push(required(`${field}.items`, "must be specified"))
  found.push(...patternProblems(schema, `${field}.pattern`))
  if (schema.default !== undefined && found.length === 0) found.push(...defaultProblems(schema, `${field}.default`))
  return found
}

const typeProblems = (schema: StructuralSchema, field: string, level: Level): FieldError[] => {
  const { type = "" } = schema
  const isFree =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true
  if (type === "") return isFree ? [] : [required(field, missingType[level])]
  if (!types.includes(type)) return [notSupported(field, type, types)]
  return level === "root" && type !== "object" ? [invalid(field, type, "must be object at the root")] : []
}

const patternProblems = ({ pattern = "" }: StructuralSchema, field: string): FieldError[] => {
  const compiled = compilePattern(pattern)
  return typeof compiled === "string"
    ? [invalid(field, pattern, `must be a valid regular expression: ${compiled}`)]
    : []
}

/** The errors of a default by its own schema, all reported for the default. */
const defaultProblems = (schema: StructuralSchema, field: string): FieldError[] =>
  checkSchema(schema, schema.default).map(({ type, value, detail }) =>
    type === "TypeInvalid" ? { type, field, value, detail } : invalid(field, schema.default, detail),
  )
