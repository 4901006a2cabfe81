/** The rules of a schema (`x-kubernetes-validations`), compiled, in the shape of the schema. */

import {
  maximumSchemaDepth,
  type StructuralSchema,
  type ValidationRule,
} from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"
import { CompileError } from "../../cel/problems.ts"
import { compile, describeProblem, type Program } from "../../cel/program.ts"
import { type CelType, optionalOf } from "../../cel/types.ts"
import { declaredType, isEmbedded } from "./declared-type.ts"
import { ruleFieldPath } from "./rule-field-path.ts"

export interface CompiledRule {
  readonly rule: ValidationRule
  /** A text for a rule that does not compile. */
  readonly program: Program | string
  /** Of `messageExpression`; absent without one. */
  readonly message: Program | string | undefined
  readonly usesOldSelf: boolean
  /** `fieldPath` as it follows the path of the value; empty without one. */
  readonly fieldPath: string
}

/** The rules of a place in a schema, and those below. */
export interface RuleNode {
  readonly schema: StructuralSchema
  readonly isResource: boolean
  readonly rules: ReadonlyArray<CompiledRule>
  readonly items: RuleNode | undefined
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly values: RuleNode | undefined
  readonly allOf: ReadonlyArray<RuleNode>
}

const place = "self"
const before = "oldSelf"

/** A rule's expressions against the type of its value. */
export const compileRule = (rule: ValidationRule, type: CelType, schema: StructuralSchema): CompiledRule => {
  const old = rule.optionalOldSelf === true ? optionalOf(type) : type
  const variables = new Map([
    [place, type],
    [before, old],
  ])
  const program = compiled(rule.rule, variables, "bool", {
    failed: "compilation failed: ",
    misfit: "cel expression must evaluate to a bool",
  })
  const { messageExpression = "" } = rule
  const message =
    messageExpression === "" || typeof program === "string"
      ? undefined
      : compiled(messageExpression, variables, "string", {
          failed: "messageExpression compilation failed: ",
          misfit: "messageExpression must evaluate to a string",
        })
  return {
    rule,
    program,
    message,
    usesOldSelf: typeof program !== "string" && program.reads.has(before),
    fieldPath: ruleFieldPath(rule.fieldPath ?? "", schema) ?? "",
  }
}

const compiled = (
  text: string,
  variables: ReadonlyMap<string, CelType>,
  wanted: CelType["kind"],
  words: { readonly failed: string; readonly misfit: string },
): Program | string => {
  try {
    const program = compile(text, variables)
    return program.type.kind === wanted ? program : words.misfit
  } catch (error) {
    if (error instanceof CompileError) return `${words.failed}${describeProblem(text, error)}`
    throw error
  }
}

/** `undefined` without any rules. */
export const compileRules = (schema: StructuralSchema): RuleNode | undefined => nodeOf(schema, schema, true, 0)

/** `ruled` has the rules and `typed` the types: inside `allOf`, a schema has no types of its own. */
const nodeOf = (
  ruled: StructuralSchema,
  typed: StructuralSchema,
  isResource: boolean,
  depth: number,
): RuleNode | undefined => {
  if (depth > maximumSchemaDepth) return undefined
  const inner = (child: StructuralSchema | boolean | undefined, type: StructuralSchema | boolean | undefined) =>
    isRecord(child) && isRecord(type) ? nodeOf(child, type, isEmbedded(type), depth + 1) : undefined
  const given = ruled["x-kubernetes-validations"] ?? []
  const type = given.length === 0 ? undefined : declaredType(typed, isResource)
  const properties = new Map<string, RuleNode>()
  for (const [name, child] of Object.entries(ruled.properties ?? {})) {
    const node = inner(child, typed.properties?.[name])
    if (node !== undefined) properties.set(name, node)
  }
  const node: RuleNode = {
    schema: typed,
    isResource,
    rules: type === undefined ? [] : given.map((rule) => compileRule(rule, type, typed)),
    items: inner(ruled.items, typed.items),
    properties,
    values: inner(ruled.additionalProperties, typed.additionalProperties),
    allOf: (ruled.allOf ?? []).flatMap((child) => nodeOf(child, typed, isResource, depth + 1) ?? []),
  }
  const isEmpty = node.rules.length + node.properties.size + node.allOf.length === 0 && !node.items && !node.values
  return isEmpty ? undefined : node
}
