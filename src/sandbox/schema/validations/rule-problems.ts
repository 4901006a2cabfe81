/**
 * What is wrong with the rules of a schema: their form, and, where that is right, expressions that do not compile. Not checked: the
 * API server's estimate of what a rule may cost at worst. The compiler's own words after `compilation failed:` are not the API server's.
 */

import {
  type FieldError,
  invalid,
  maximumSchemaDepth,
  notSupported,
  required,
  type StructuralSchema,
  type ValidationRule,
} from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { isKeyed } from "../custom/correlation.ts"
import { compileRule, ruleFieldPath } from "./compiled-rules.ts"
import { DeclaredTypes } from "./declared-types.ts"

/** `field` is the path of the schema: `spec.validation.openAPIV3Schema`. */
export const ruleProblems = (schema: StructuralSchema, field: string): ReadonlyArray<FieldError> => {
  let types: DeclaredTypes | undefined
  const typesOf = (): DeclaredTypes => {
    types ??= new DeclaredTypes(schema)
    return types
  }
  const { form, expressions } = problemsAt(schema, { field, typesOf, uncorrelated: undefined, depth: 0 })
  return [...form, ...expressions]
}

interface Place {
  readonly field: string
  readonly typesOf: () => DeclaredTypes
  /** The list above whose items have no counterparts in an update. */
  readonly uncorrelated: string | undefined
  readonly depth: number
}

interface Problems {
  readonly form: FieldError[]
  readonly expressions: FieldError[]
}

const problemsAt = (schema: StructuralSchema, place: Place): Problems => {
  const found: Problems = { form: [], expressions: [] }
  if (place.depth > maximumSchemaDepth) return found
  const { field } = place
  const { items, properties = {}, additionalProperties } = schema
  const add = (child: StructuralSchema, step: string, uncorrelated: string | undefined): void => {
    const inner = { ...place, field: `${field}.${step}`, uncorrelated, depth: place.depth + 1 }
    const { form, expressions } = problemsAt(child, inner)
    found.form.push(...form)
    found.expressions.push(...expressions)
  }
  if (isRecord(items)) add(items, "items", place.uncorrelated ?? (isKeyed(schema) ? undefined : field))
  for (const name of Object.keys(properties).sort())
    add(properties[name] ?? {}, `properties[${name}]`, place.uncorrelated)
  if (isRecord(additionalProperties)) add(additionalProperties, "additionalProperties", place.uncorrelated)
  for (const [index, rule] of (schema["x-kubernetes-validations"] ?? []).entries())
    found.form.push(...formProblems(rule, schema, `${field}.x-kubernetes-validations[${index}]`))
  // A type of a malformed schema would lead to complaints that go away with its own.
  if (found.form.length === 0) found.expressions.push(...expressionProblems(schema, place))
  return found
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"]

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text)

const formProblems = (rule: ValidationRule, schema: StructuralSchema, field: string): FieldError[] => {
  const { message = "", messageExpression = "", fieldPath = "", reason } = rule
  const text = (rule.rule ?? "").trim()
  const found: FieldError[] = []
  if (text === "") found.push(required(`${field}.rule`, "rule is not specified"))
  else if (message !== "" && message.trim() === "")
    found.push(invalid(`${field}.message`, message, "must be non-empty if specified"))
  else if (hasLineBreak(message.trim()))
    found.push(invalid(`${field}.message`, message, "must not contain line breaks"))
  else if (hasLineBreak(text) && message.trim() === "")
    found.push(required(`${field}.message`, "message must be specified if rule contains line breaks"))
  if (messageExpression !== "" && messageExpression.trim() === "")
    found.push(required(`${field}.messageExpression`, "messageExpression must be non-empty if specified"))
  if (reason !== undefined && reason !== null && !reasons.includes(reason))
    found.push(notSupported(`${field}.reason`, reason, reasons))
  if (fieldPath !== "" && fieldPath.trim() === "")
    found.push(invalid(`${field}.fieldPath`, fieldPath, "must be non-empty if specified"))
  if (hasLineBreak(fieldPath)) found.push(invalid(`${field}.fieldPath`, fieldPath, "must not contain line breaks"))
  if (fieldPath !== "" && ruleFieldPath(fieldPath, schema) === undefined)
    found.push(invalid(`${field}.fieldPath`, fieldPath, "must be a valid path"))
  return found
}

const expressionProblems = (schema: StructuralSchema, { field, typesOf, uncorrelated }: Place): FieldError[] => {
  const rules = schema["x-kubernetes-validations"] ?? []
  if (rules.length === 0) return []
  const types = typesOf()
  const type = types.of(schema)
  if (type === undefined)
    return [
      invalid(
        `${field}.x-kubernetes-validations`,
        rules,
        "failed to retrieve type information for x-kubernetes-validations",
      ),
    ]
  return rules.flatMap((rule, index) => {
    const place = `${field}.x-kubernetes-validations[${index}]`
    const { program, message, usesOldSelf } = compileRule(rule, types, type, schema)
    const found: FieldError[] = []
    if (typeof program === "string") found.push(invalid(`${place}.rule`, rule, program))
    if (typeof message === "string") found.push(invalid(`${place}.messageExpression`, rule, message))
    if (usesOldSelf && uncorrelated !== undefined)
      found.push(
        invalid(
          `${place}.rule`,
          rule.rule,
          `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`,
        ),
      )
    if (!usesOldSelf && rule.optionalOldSelf !== undefined && rule.optionalOldSelf !== null)
      found.push(
        invalid(`${place}.optionalOldSelf`, rule.optionalOldSelf, "may not be set if oldSelf is not used in rule"),
      )
    return found
  })
}
