/**
 * Validates a value against a schema like the server's validator (kube-openapi, pkg/validation): types, enums,
 * bounds, lengths, patterns, formats, required fields, allOf/anyOf/oneOf/not.
 *
 * Recursion follows the schema, so its depth is {@link maximumSchemaDepth} at most, however deep the value is. An unreadable
 * pattern (definitions with one are refused) counts as matching.
 */

import {
  type FieldError,
  invalid,
  maximumSchemaDepth,
  notSupported,
  required,
  type StructuralSchema,
  tooLong,
  tooMany,
  wrongType,
} from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { matchesPattern } from "../pattern.ts"
import { type Correlation, canonicalJson } from "./correlation.ts"
import { isOfFormat, knownFormats } from "./custom-formats.ts"

/**
 * Problems of `value`; empty when it is valid. `path` is empty at the root. In an update, `correlated` is the value with the one that it
 * replaces: problems of what stays as it was are not reported.
 */
export const checkSchema = (
  schema: StructuralSchema,
  value: unknown,
  path = "",
  depth = 0,
  correlated?: Correlation,
): FieldError[] => {
  const problems = problemsOf(schema, value, path, depth, correlated)
  return problems.length > 0 && correlated?.isUnchanged === true ? [] : problems
}

const problemsOf = (
  schema: StructuralSchema,
  value: unknown,
  path: string,
  depth: number,
  correlated: Correlation | undefined,
): FieldError[] => {
  if (depth > maximumSchemaDepth) return []
  const types = typesOf(schema)
  if (value === null) {
    const refused = types.length > 0 && schema.nullable !== true
    return refused ? [misfit(path, types.join(","), "null")] : enumProblems(schema, value, path)
  }
  const problems = [...typeProblems(schema, types, value, path), ...choiceProblems(schema, value, path, depth)]
  if (typeof value === "string") problems.push(...stringProblems(schema, value, path))
  if (typeof value === "number") problems.push(...numberProblems(schema, value, path))
  if (Array.isArray(value)) problems.push(...listProblems(schema, value, path, depth, correlated))
  problems.push(...enumProblems(schema, value, path))
  if (isRecord(value)) problems.push(...objectProblems(schema, value, path, depth, correlated))
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
): FieldError[] => {
  const found = jsonTypeOf(value)
  const fits = types.includes(found) || (found === "integer" && types.includes("number"))
  const format = schema.format ?? ""
  if (format !== "" && found !== "string" && found !== "array" && !fits) {
    const native = found === "integer" ? "int64" : found === "number" ? "float64" : ""
    // A whole number that JSON wrote with a fraction is an integer to this validator, so it always fits here.
    return native === format ? [] : numericMisfit(types, found, format, native, path)
  }
  const isNumeric = types.includes("number") || types.includes("integer")
  if (format !== "" && !isNumeric && (found === "string" || found === "array")) return []
  return types.length === 0 || fits ? [] : [misfit(path, types.join(","), found)]
}

/** int32 and int64 add nothing to the type; the server then reports the type's name. */
const numericMisfit = (
  types: ReadonlyArray<string>,
  found: string,
  format: string,
  native: string,
  path: string,
): FieldError[] => [
  format.startsWith("int") || types.includes("number")
    ? misfit(path, types.join(","), found)
    : misfit(path, format, native),
]

const jsonTypeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  if (isRecord(value)) return "object"
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value
}

const misfit = (path: string, expected: string, found: string): FieldError =>
  wrongType(
    path === "" ? "<nil>" : path,
    found,
    `${path} in body must be of type ${expected}: ${JSON.stringify(found)}`,
  )

/** The server's sentence names the field once more. */
const inBody = (path: string, value: unknown, text: string): FieldError =>
  invalid(path, value, `${path} in body ${text}`)

const choiceProblems = (schema: StructuralSchema, value: unknown, path: string, depth: number): FieldError[] => {
  const check = (one: StructuralSchema): FieldError[] => checkSchema(one, value, path, depth + 1)
  const complain = (text: string): FieldError => invalid("<nil>", "", `"${path}" must ${text}`)
  const problems: FieldError[] = []
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

const isEmpty = (problems: ReadonlyArray<FieldError>): boolean => problems.length === 0

/** The alternative that is nearest to the value: the server counts passed checks, this counts problems. */
const nearest = (results: ReadonlyArray<FieldError[]>): FieldError[] =>
  results.reduce((best, result) => (result.length < best.length ? result : best), results[0] ?? [])

const stringProblems = (schema: StructuralSchema, value: string, path: string): FieldError[] => {
  const problems: FieldError[] = []
  const { maxLength, minLength, pattern, format } = schema
  const say = (text: string): FieldError => inBody(path, value, `should ${text}`)
  const length = maxLength === undefined && minLength === undefined ? 0 : [...value].length
  if (maxLength !== undefined && length > maxLength) problems.push(tooLong(path, maxLength))
  else if (minLength !== undefined && length < minLength) problems.push(say(`be at least ${minLength} chars long`))
  else if (pattern !== undefined && pattern !== "" && !matchesPattern(pattern, value))
    problems.push(say(`match '${pattern}'`))
  if (format !== undefined && knownFormats.has(format) && !isOfFormat(format, value))
    problems.push(misfit(path, format, value))
  return problems
}

const numberProblems = (schema: StructuralSchema, value: number, path: string): FieldError[] => {
  const problems: FieldError[] = []
  // Whole values are compared as integers: the bound loses its fraction.
  const bound = (limit: number): number => (Number.isInteger(value) ? Math.trunc(limit) : limit)
  const say = (text: string): FieldError => inBody(path, value, `should be ${text}`)
  if (schema.multipleOf !== undefined) {
    const factor = bound(schema.multipleOf)
    if (factor <= 0)
      problems.push(invalid(path, value, `factor MultipleOf declared for ${path} must be positive: ${factor}`))
    else if (!Number.isInteger(factor < 1 ? (1 / factor) * value : value / factor))
      problems.push(say(`a multiple of ${factor}`))
  }
  if (schema.maximum !== undefined) {
    const limit = bound(schema.maximum)
    const isExclusive = schema.exclusiveMaximum === true
    if (value > limit || (isExclusive && value === limit))
      problems.push(say(`less than ${isExclusive ? "" : "or equal to "}${limit}`))
  }
  if (schema.minimum !== undefined) {
    const limit = bound(schema.minimum)
    const isExclusive = schema.exclusiveMinimum === true
    if (value < limit || (isExclusive && value === limit))
      problems.push(say(`greater than ${isExclusive ? "" : "or equal to "}${limit}`))
  }
  return problems
}

const listProblems = (
  schema: StructuralSchema,
  value: ReadonlyArray<unknown>,
  path: string,
  depth: number,
  correlated: Correlation | undefined,
): FieldError[] => {
  const { items, minItems, maxItems } = schema
  const problems: FieldError[] = []
  if (items !== undefined)
    for (const [index, item] of value.entries())
      problems.push(...checkSchema(items, item, `${path}[${index}]`, depth + 1, correlated?.item(index)))
  if (minItems !== undefined && value.length < minItems)
    problems.push(inBody(path, value.length, `should have at least ${minItems} items`))
  if (maxItems !== undefined && value.length > maxItems) problems.push(tooMany(path, value.length, maxItems))
  if (schema.uniqueItems === true && new Set(value.map((item) => canonicalJson(item))).size < value.length)
    problems.push(inBody(path, "", "shouldn't contain duplicates"))
  return problems
}

const enumProblems = (schema: StructuralSchema, value: unknown, path: string): FieldError[] => {
  if (schema.enum === undefined || schema.enum.length === 0) return []
  const text = canonicalJson(value)
  return schema.enum.some((allowed) => canonicalJson(allowed) === text) ? [] : [notSupported(path, value, schema.enum)]
}

const objectProblems = (
  schema: StructuralSchema,
  value: Readonly<Record<string, unknown>>,
  path: string,
  depth: number,
  correlated: Correlation | undefined,
): FieldError[] => {
  const { properties = {}, additionalProperties, minProperties, maxProperties } = schema
  const problems: FieldError[] = []
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`)
  const names = Object.keys(value).sort()
  if (minProperties !== undefined && names.length < minProperties)
    problems.push(inBody(path, names.length, `should have at least ${minProperties} properties`))
  if (maxProperties !== undefined && names.length > maxProperties)
    problems.push(tooMany(path, names.length, maxProperties))
  for (const name of names) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const rule = property ?? (isRecord(additionalProperties) ? additionalProperties : undefined)
    if (rule !== undefined)
      problems.push(...checkSchema(rule, value[name], below(name), depth + 1, correlated?.field(name)))
  }
  for (const name of schema.required ?? []) if (!Object.hasOwn(value, name)) problems.push(required(below(name)))
  return problems
}
