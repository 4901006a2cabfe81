/**
 * What the server objects to in the schema of a CustomResourceDefinition: types that are missing or unknown, lists without
 * items, patterns that are none, defaults that the schema itself refuses (apiextensions-apiserver, pkg/apiserver/schema and its defaulting).
 *
 * Not looked at: value validations under `anyOf` and the like, CEL rules, what only warns. Properties come sorted, where the
 * server's own order is random.
 */

import { maximumSchemaDepth, type StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { Pattern } from "../../pattern/pattern.ts"
import { PatternError } from "../../pattern/syntax.ts"
import type { FieldProblem } from "../field-problem.ts"
import { isRecord } from "../make-type.ts"
import { checkSchema } from "./custom-validation.ts"

/** One finding; `value` is missing where the server prints none. */
export interface SchemaProblem {
  readonly type: "Required" | "Invalid" | "Forbidden" | "TypeInvalid" | "NotSupported"
  readonly field: string
  readonly value?: unknown
  readonly detail: string
}

type Level = "root" | "field" | "item"

const missingType: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  field: "must not be empty for specified object fields",
  item: "must not be empty for specified array items",
}

const types = ["array", "boolean", "integer", "number", "object", "string"]

/** `field` is where the schema stands: `spec.validation.openAPIV3Schema`. */
export const structuralProblems = (schema: StructuralSchema, field: string): ReadonlyArray<SchemaProblem> =>
  problemsAt(schema, field, "root", 0)

const problemsAt = (schema: StructuralSchema, field: string, level: Level, depth: number): SchemaProblem[] => {
  if (depth > maximumSchemaDepth) return []
  const { items, additionalProperties, properties = {} } = schema
  const found: SchemaProblem[] = []
  if (isRecord(items)) found.push(...problemsAt(items, `${field}.items`, "item", depth + 1))
  for (const name of Object.keys(properties).sort())
    found.push(...problemsAt(properties[name] ?? {}, `${field}.properties[${name}]`, "field", depth + 1))
  if (isRecord(additionalProperties))
    found.push(...problemsAt(additionalProperties, `${field}.additionalProperties`, "field", depth + 1))
  found.push(...typeProblems(schema, `${field}.type`, level))
  if (schema.type === "array" && items === undefined)
    found.push({ type: "Required", field: `${field}.items`, detail: "must be specified" })
  found.push(...patternProblems(schema, `${field}.pattern`))
  if (schema.default !== undefined && found.length === 0) found.push(...defaultProblems(schema, `${field}.default`))
  return found
}

const typeProblems = (schema: StructuralSchema, field: string, level: Level): SchemaProblem[] => {
  const { type = "" } = schema
  const isFree =
    schema["x-kubernetes-int-or-string"] === true || schema["x-kubernetes-preserve-unknown-fields"] === true
  if (type === "") return isFree ? [] : [{ type: "Required", field, detail: missingType[level] }]
  if (!types.includes(type)) {
    const detail = `supported values: ${types.map((name) => JSON.stringify(name)).join(", ")}`
    return [{ type: "NotSupported", field, value: type, detail }]
  }
  return level === "root" && type !== "object"
    ? [{ type: "Invalid", field, value: type, detail: "must be object at the root" }]
    : []
}

const patternProblems = ({ pattern = "" }: StructuralSchema, field: string): SchemaProblem[] => {
  try {
    // Built to be thrown away: also what is only too large is found so.
    new Pattern(pattern)
    return []
  } catch (cause) {
    if (!(cause instanceof PatternError)) throw cause
    const detail = `must be a valid regular expression, but isn't: ${cause.message}`
    return [{ type: "Invalid", field, value: pattern, detail }]
  }
}

/** The findings of the schema's own validation, all told of the default. */
const defaultProblems = (schema: StructuralSchema, field: string): SchemaProblem[] =>
  checkSchema(schema, schema.default).map(({ reason, message }: FieldProblem) => {
    const rest = message.slice(message.indexOf(": ") + 2)
    const end = rest.indexOf(": ")
    const detail = rest.slice(end + 2)
    return reason === "FieldValueTypeInvalid"
      ? { type: "TypeInvalid", field, value: rest.slice(1, end - 1), detail }
      : { type: "Invalid", field, value: schema.default, detail }
  })
