/** The rules of a schema (`x-kubernetes-validations`), compiled, in the shape of the schema. */

import type { Environment } from "@marcbachmann/cel-js"
import { maximumSchemaDepth, type StructuralSchema, type ValidationRule } from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"
import { CompileError } from "../../cel/evaluation.ts"
import { compile, describeProblem, type Program } from "../../cel/program.ts"
import { type DeclaredType, DeclaredTypes, withSelf } from "./declared-types.ts"

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
  /** Of `self`; absent if there are no rules. */
  readonly type: DeclaredType | undefined
  readonly rules: ReadonlyArray<CompiledRule>
  readonly items: RuleNode | undefined
  readonly properties: ReadonlyMap<string, RuleNode>
  readonly values: RuleNode | undefined
  readonly allOf: ReadonlyArray<RuleNode>
}

/** A rule's expressions against the type of its value. */
export const compileRule = (
  rule: ValidationRule,
  types: DeclaredTypes,
  { name }: DeclaredType,
  schema: StructuralSchema,
): CompiledRule => {
  const { messageExpression = "", optionalOldSelf, fieldPath = "" } = rule
  const environment = withSelf(types, name, optionalOldSelf === true ? `optional<${name}>` : name)
  const program = compiled(rule.rule, environment, "bool", {
    failed: "compilation failed: ",
    misfit: "cel expression must evaluate to a bool",
  })
  const message =
    messageExpression === "" || typeof program === "string"
      ? undefined
      : compiled(messageExpression, environment, "string", {
          failed: "messageExpression compilation failed: ",
          misfit: "messageExpression must evaluate to a string",
        })
  return {
    rule,
    program,
    message,
    usesOldSelf: typeof program !== "string" && program.reads.has("oldSelf"),
    fieldPath: ruleFieldPath(fieldPath, schema) ?? "",
  }
}

const compiled = (
  text: string,
  environment: Environment,
  wanted: string,
  words: { readonly failed: string; readonly misfit: string },
): Program | string => {
  try {
    const program = compile(environment, text)
    return program.type === wanted ? program : words.misfit
  } catch (error) {
    if (error instanceof CompileError) return `${words.failed}${describeProblem(text, error)}`
    throw error
  }
}

/** `undefined` without any rules. */
export const compileRules = (schema: StructuralSchema): RuleNode | undefined =>
  new Compilation(schema).node(schema, schema, 0)

class Compilation {
  readonly #root: StructuralSchema
  #types: DeclaredTypes | undefined

  constructor(root: StructuralSchema) {
    this.#root = root
  }

  /** `ruled` has the rules and `typed` the types: inside `allOf`, a schema has no types of its own. */
  node(ruled: StructuralSchema, typed: StructuralSchema, depth: number): RuleNode | undefined {
    if (depth > maximumSchemaDepth) return undefined
    const inner = (child: StructuralSchema | boolean | undefined, type: StructuralSchema | boolean | undefined) =>
      isRecord(child) && isRecord(type) ? this.node(child, type, depth + 1) : undefined
    const properties = new Map<string, RuleNode>()
    for (const [name, child] of Object.entries(ruled.properties ?? {})) {
      const node = inner(child, typed.properties?.[name])
      if (node !== undefined) properties.set(name, node)
    }
    const node: RuleNode = {
      schema: typed,
      ...this.#rules(ruled["x-kubernetes-validations"] ?? [], typed),
      items: inner(ruled.items, typed.items),
      properties,
      values: inner(ruled.additionalProperties, typed.additionalProperties),
      allOf: (ruled.allOf ?? []).flatMap((child) => this.node(child, typed, depth + 1) ?? []),
    }
    const isEmpty = node.rules.length + node.properties.size + node.allOf.length === 0 && !node.items && !node.values
    return isEmpty ? undefined : node
  }

  #rules(given: ReadonlyArray<ValidationRule>, schema: StructuralSchema): Pick<RuleNode, "type" | "rules"> {
    if (given.length === 0) return { type: undefined, rules: [] }
    this.#types ??= new DeclaredTypes(this.#root)
    const types = this.#types
    const type = types.of(schema)
    return { type, rules: type === undefined ? [] : given.map((rule) => compileRule(rule, types, type, schema)) }
  }
}

// `fieldPath` of a rule: `.spec.replicas`, `['a.b']`, and mixtures, from the rule's place to a field of the schema.

const pathStep = /\.([^.[\]]+)|\['((?:[^'\\]|\\[abfnrtv'\\])*)'\]/y

const unescaped: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
}

/** The path as messages show it; `undefined` if it leads to no field of the schema. Empty for the empty path. */
export const ruleFieldPath = (path: string, schema: StructuralSchema): string | undefined => {
  let at = schema
  let shown = ""
  let end = 0
  pathStep.lastIndex = 0
  for (let match = pathStep.exec(path); match !== null; match = pathStep.exec(path)) {
    end = pathStep.lastIndex
    const [, plain, quoted = ""] = match
    const name = plain ?? quoted.replace(/\\(.)/g, (_, letter: string) => unescaped[letter] ?? letter)
    const { properties, additionalProperties }: StructuralSchema = at
    const next =
      properties === undefined ? isRecord(additionalProperties) && additionalProperties : memberOf(properties, name)
    if (!next) return undefined
    shown += properties === undefined ? `[${name}]` : shown === "" ? name : `.${name}`
    at = next
  }
  return end === path.length ? shown : undefined
}
