/**
 * A value against a schema, with the messages of the server's validator (kube-openapi, pkg/validation): types, enums,
 * bounds, lengths, patterns, formats, required fields, allOf/anyOf/oneOf/not.
 *
 * Recursion follows the schema, so its depth is {@link maximumSchemaDepth} at most however deep the value is. A pattern that
 * nobody can read (definitions with one are refused) is taken as matching.
 */

import { maximumSchemaDepth, type StructuralSchema } from "../../../apiserver/openapi/structural-schema.ts"
import { Pattern } from "../../pattern/pattern.ts"
import { PatternError } from "../../pattern/syntax.ts"
import {
  type FieldProblem,
  goJson,
  goNumber,
  invalidField,
  requiredField,
  tooLongField,
  tooManyField,
  unsupportedField,
  wrongTypeField,
} from "../field-problem.ts"
import { isRecord } from "../make-type.ts"
import { isOfFormat, knownFormats } from "./custom-formats.ts"

/** Problems of `value`; empty when it is valid. `path` is empty at the root. */
export const checkSchema = (schema: StructuralSchema, value: unknown, path = "", depth = 0): FieldProblem[] => {
  if (depth > maximumSchemaDepth) return []
  const types = typesOf(schema)
  if (value === null) {
    const refused = types.length > 0 && schema.nullable !== true
    return refused ? [wrongType(path, types.join(","), "null")] : enumProblems(schema, value, path)
  }
  const problems = [...typeProblems(schema, types, value, path), ...choiceProblems(schema, value, path, depth)]
  if (typeof value === "string") problems.push(...stringProblems(schema, value, path))
  if (typeof value === "number") problems.push(...numberProblems(schema, value, path))
  if (Array.isArray(value)) problems.push(...listProblems(schema, value, path, depth))
  problems.push(...enumProblems(schema, value, path))
  if (isRecord(value)) problems.push(...objectProblems(schema, value, path, depth))
  return problems
}

const typesOf = (schema: StructuralSchema): ReadonlyArray<string> => {
  if (schema["x-kubernetes-int-or-string"] === true) return ["integer", "string"]
  return schema.type === undefined || schema.type === "" ? [] : [schema.type]
}

const typeProblems = (
  schema: StructuralSchema,
  types: ReadonlyArray<string>,
  value: unknown,
  path: string,
): FieldProblem[] => {
  const found = jsonTypeOf(value)
  const fits = types.includes(found) || (found === "integer" && types.includes("number"))
  const format = schema.format ?? ""
  if (format !== "" && found !== "string" && found !== "array" && !fits) {
    const native = found === "integer" ? "int64" : found === "number" ? "float64" : ""
    // A whole number that JSON wrote with a fraction is an integer to this validator, hence never a misfit here.
    return native === format ? [] : numericMisfit(types, found, format, native, path)
  }
  const isNumeric = types.includes("number") || types.includes("integer")
  if (format !== "" && !isNumeric && (found === "string" || found === "array")) return []
  return types.length === 0 || fits ? [] : [wrongType(path, types.join(","), found)]
}

/** int32 and int64 say nothing that the type does not; the type's name is what the server reports then. */
const numericMisfit = (
  types: ReadonlyArray<string>,
  found: string,
  format: string,
  native: string,
  path: string,
): FieldProblem[] => [
  format.startsWith("int") || types.includes("number")
    ? wrongType(path, types.join(","), found)
    : wrongType(path, format, native),
]

const jsonTypeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  if (isRecord(value)) return "object"
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value
}

const inBody = (path: string): string => `${path} in body`

const wrongType = (path: string, expected: string, found: string): FieldProblem =>
  wrongTypeField(path === "" ? "<nil>" : path, found, `${inBody(path)} must be of type ${expected}: "${found}"`)

const choiceProblems = (schema: StructuralSchema, value: unknown, path: string, depth: number): FieldProblem[] => {
  const check = (one: StructuralSchema): FieldProblem[] => checkSchema(one, value, path, depth + 1)
  const complain = (text: string): FieldProblem => invalidField("<nil>", "", `"${path}" must ${text}`)
  const problems: FieldProblem[] = []
  if (schema.anyOf !== undefined && schema.anyOf.length > 0) {
    const results = schema.anyOf.map(check)
    if (!results.some(isEmpty)) problems.push(complain("validate at least one schema (anyOf)"), ...nearest(results))
  }
  if (schema.oneOf !== undefined && schema.oneOf.length > 0) {
    const results = schema.oneOf.map(check)
    const valid = results.filter(isEmpty).length
    const text = "validate one and only one schema (oneOf)."
    if (valid === 0) problems.push(complain(`${text} Found none valid`), ...nearest(results))
    else if (valid > 1) problems.push(complain(`${text} Found ${valid} valid alternatives`))
  }
  if (schema.allOf !== undefined && schema.allOf.length > 0) {
    const results = schema.allOf.map(check)
    problems.push(...results.flat())
    const none = results.some(isEmpty) ? "" : ". None validated"
    if (!results.every(isEmpty)) problems.push(complain(`validate all the schemas (allOf)${none}`))
  }
  if (schema.not !== undefined && isEmpty(check(schema.not))) problems.push(complain("not validate the schema (not)"))
  return problems
}

const isEmpty = (problems: ReadonlyArray<FieldProblem>): boolean => problems.length === 0

/** The alternative that the value is nearest to: the server counts checks that passed, here problems are counted. */
const nearest = (results: ReadonlyArray<FieldProblem[]>): FieldProblem[] =>
  results.reduce((best, result) => (result.length < best.length ? result : best), results[0] ?? [])

const stringProblems = (schema: StructuralSchema, value: string, path: string): FieldProblem[] => {
  const problems: FieldProblem[] = []
  const { maxLength, minLength, pattern, format } = schema
  const say = (text: string): FieldProblem => invalidField(path, value, `${inBody(path)} should ${text}`)
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && length > maxLength) problems.push(tooLongField(path, maxLength))
  else if (minLength !== undefined && length < minLength) problems.push(say(`be at least ${minLength} chars long`))
  else if (pattern !== undefined && pattern !== "" && !matches(pattern, value)) problems.push(say(`match '${pattern}'`))
  if (format !== undefined && knownFormats.has(format) && !isOfFormat(format, value))
    problems.push({
      ...invalidField(path, value, `${inBody(path)} must be of type ${format}: ${JSON.stringify(value)}`),
      reason: "FieldValueTypeInvalid",
    })
  return problems
}

const patterns = new Map<string, Pattern | undefined>()
/** Patterns come from schemas, of which there are few; this bounds what a client that keeps changing its schema can cost. */
const maximumPatterns = 1000

const matches = (pattern: string, value: string): boolean => {
  if (!patterns.has(pattern)) {
    if (patterns.size >= maximumPatterns) patterns.clear()
    patterns.set(pattern, compile(pattern))
  }
  return patterns.get(pattern)?.test(value) ?? true
}

const compile = (pattern: string): Pattern | undefined => {
  try {
    return new Pattern(pattern)
  } catch (cause) {
    if (!(cause instanceof PatternError)) throw cause
    return undefined
  }
}

const numberProblems = (schema: StructuralSchema, value: number, path: string): FieldProblem[] => {
  const problems: FieldProblem[] = []
  // Whole values are compared as integers: the bound loses its fraction.
  const bound = (limit: number): number => (Number.isInteger(value) ? Math.trunc(limit) : limit)
  const say = (text: string): FieldProblem => invalidField(path, value, `${inBody(path)} should be ${text}`)
  if (schema.multipleOf !== undefined) {
    const factor = bound(schema.multipleOf)
    if (factor <= 0)
      problems.push(
        invalidField(path, value, `factor MultipleOf declared for ${path} must be positive: ${goNumber(factor)}`),
      )
    else if (!Number.isInteger(factor < 1 ? (1 / factor) * value : value / factor))
      problems.push(say(`a multiple of ${goNumber(factor)}`))
  }
  if (schema.maximum !== undefined) {
    const limit = bound(schema.maximum)
    const isExclusive = schema.exclusiveMaximum === true
    if (value > limit || (isExclusive && value === limit))
      problems.push(say(`less than ${isExclusive ? "" : "or equal to "}${goNumber(limit)}`))
  }
  if (schema.minimum !== undefined) {
    const limit = bound(schema.minimum)
    const isExclusive = schema.exclusiveMinimum === true
    if (value < limit || (isExclusive && value === limit))
      problems.push(say(`greater than ${isExclusive ? "" : "or equal to "}${goNumber(limit)}`))
  }
  return problems
}

const listProblems = (
  schema: StructuralSchema,
  value: ReadonlyArray<unknown>,
  path: string,
  depth: number,
): FieldProblem[] => {
  const { items, minItems, maxItems } = schema
  const problems: FieldProblem[] = []
  if (items !== undefined)
    for (const [index, item] of value.entries())
      problems.push(...checkSchema(items, item, `${path}[${index}]`, depth + 1))
  if (minItems !== undefined && value.length < minItems)
    problems.push(invalidField(path, value.length, `${inBody(path)} should have at least ${minItems} items`))
  if (maxItems !== undefined && value.length > maxItems) problems.push(tooManyField(path, value.length, maxItems))
  if (schema.uniqueItems === true && new Set(value.map((item) => goJson(item))).size < value.length)
    problems.push(invalidField(path, "", `${inBody(path)} shouldn't contain duplicates`))
  return problems
}

const enumProblems = (schema: StructuralSchema, value: unknown, path: string): FieldProblem[] => {
  if (schema.enum === undefined || schema.enum.length === 0) return []
  const text = goJson(value)
  return schema.enum.some((allowed) => goJson(allowed) === text) ? [] : [unsupportedField(path, value, schema.enum)]
}

const objectProblems = (
  schema: StructuralSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
  depth: number,
): FieldProblem[] => {
  const { properties = {}, additionalProperties, minProperties, maxProperties } = schema
  const problems: FieldProblem[] = []
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`)
  const names = Object.keys(value).sort()
  if (minProperties !== undefined && names.length < minProperties)
    problems.push(invalidField(path, names.length, `${inBody(path)} should have at least ${minProperties} properties`))
  if (maxProperties !== undefined && names.length > maxProperties)
    problems.push(tooManyField(path, names.length, maxProperties))
  for (const name of names) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const rule = property ?? (isRecord(additionalProperties) ? additionalProperties : undefined)
    if (rule !== undefined) problems.push(...checkSchema(rule, value[name], below(name), depth + 1))
  }
  for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) problems.push(requiredField(below(name)))
  return problems
}
