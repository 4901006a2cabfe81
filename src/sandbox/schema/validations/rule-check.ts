/**
 * Objects against the rules of their schema, with one bound on the steps of all of them. A rule that an update does not change
 * the value of, and that does not look at the old value, is reported as a warning only.
 */

import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  required,
  type StructuralSchema,
  type ValidationRule,
} from "../../../apiserver/index.ts"
import { isRecord } from "../../../is-record.ts"
import { CostLimitError, EvaluationError, Meter } from "../../cel/evaluation.ts"
import type { Program } from "../../cel/program.ts"
import { optionalOf, type Value } from "../../cel/values.ts"
import { Correlation } from "../custom/correlation.ts"
import { checkCustomValue } from "../custom/custom-schema.ts"
import type { CompiledRule, RuleNode } from "./compiled-rules.ts"

/** Bytes of a message made by an expression. */
const longestMessage = 5 * 1024

interface RuleFindings {
  readonly errors: ReadonlyArray<FieldError>
  /** Broken by values that the update leaves as they are. */
  readonly tolerated: ReadonlyArray<FieldError>
}

/** Errors of a kind that leaves nothing for rules to look at: they would complain about what is missing. */
const blocking: ReadonlySet<FieldError["type"]> = new Set([
  "NotSupported",
  "Required",
  "TooLong",
  "TooMany",
  "TypeInvalid",
])

const notChecked =
  "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"

/** An object of a custom kind against its schema, and then against the rules in it. `old` is the object that is replaced. */
export const checkCustomObject = (
  schema: StructuralSchema | undefined,
  rules: RuleNode | undefined,
  object: unknown,
  old: unknown,
): RuleFindings => {
  const errors = checkCustomValue(schema, object, old)
  if (rules === undefined) return { errors, tolerated: [] }
  if (errors.some(({ type }) => blocking.has(type)))
    return { errors: [...errors, invalid(noPath, null, notChecked)], tolerated: [] }
  const check = new RuleCheck()
  const correlated = old === undefined ? undefined : new Correlation(object, old, rules.schema)
  check.node(rules, { path: "", value: object, correlated, nearest: correlated })
  return { errors: [...errors, ...check.errors], tolerated: check.tolerated }
}

/** A value, and what it replaces. */
interface Place {
  readonly path: string
  readonly value: unknown
  readonly correlated: Correlation | undefined
  /** `correlated`, or the nearest above that there is. */
  readonly nearest: Correlation | undefined
}

class RuleCheck implements RuleFindings {
  readonly errors: FieldError[] = []
  readonly tolerated: FieldError[] = []
  readonly #meter = new Meter()

  node(node: RuleNode, place: Place): void {
    const { path, value, correlated } = place
    if (this.#meter.remaining < 0 || value === null || value === undefined) return
    const below = (path: string, value: unknown, child: Correlation | undefined): Place => ({
      path,
      value,
      correlated: child,
      nearest: child ?? place.nearest,
    })
    this.#rules(node, place)
    for (const part of node.allOf) this.node(part, place)
    if (Array.isArray(value)) {
      if (node.items === undefined) return
      for (const [index, item] of value.entries())
        this.node(node.items, below(`${path}[${index}]`, item, correlated?.item(index)))
    } else if (isRecord(value)) {
      for (const [name, member] of Object.entries(value)) {
        const property = node.properties.get(name)
        const child = property ?? node.values
        const inner = property === undefined ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
        if (child !== undefined) this.node(child, below(inner, member, correlated?.field(name)))
      }
    }
  }

  #rules(node: RuleNode, { path, value, correlated, nearest }: Place): void {
    const old = correlated?.old ?? undefined
    const report = (detail: string): void => {
      this.errors.push(invalid(path || noPath, typeShown(node), detail))
    }
    const variables = variablesOf(node, value, old)
    for (const compiled of node.rules) {
      const { rule, program, usesOldSelf } = compiled
      if (typeof program === "string") {
        report(`rule compile error: ${program}`)
        continue
      }
      if (usesOldSelf && old === undefined && rule.optionalOldSelf !== true) continue
      const outcome = this.#outcome(program, () => variables(rule))
      if (outcome instanceof CostLimitError)
        return report(
          `'${outcome.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown(rule)}`,
        )
      if (outcome instanceof EvaluationError) report(failureText(outcome, rule))
      else if (outcome !== true) {
        const broken = this.#broken(node, compiled, path, () => variables(rule))
        if (!usesOldSelf && nearest?.isUnchanged === true) this.tolerated.push(broken)
        else this.errors.push(broken)
        if (this.#meter.remaining < 0) return
      }
    }
  }

  /** The value, or why there is none. */
  #outcome(
    program: Program,
    variables: () => Readonly<Record<string, Value>>,
  ): Value | EvaluationError | CostLimitError {
    try {
      return program.run(variables(), this.#meter)
    } catch (error) {
      if (error instanceof EvaluationError || error instanceof CostLimitError) return error
      throw error
    }
  }

  #broken(
    node: RuleNode,
    { rule, message, fieldPath }: CompiledRule,
    path: string,
    variables: () => Readonly<Record<string, Value>>,
  ): FieldError {
    const field = [path, fieldPath].filter((part) => part !== "").join(".") || noPath
    const usual =
      rule.message === undefined || rule.message === "" ? `failed rule: ${shown(rule)}` : rule.message.trim()
    if (message === undefined || typeof message === "string") return reasoned(rule, field, typeShown(node), usual)
    const made = this.#outcome(message, variables)
    if (made instanceof CostLimitError) {
      const text = JSON.stringify(rule.messageExpression)
      const problem = `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${text}`
      return invalid(field, typeShown(node), problem)
    }
    return reasoned(rule, field, typeShown(node), usableMessage(made) ?? usual)
  }
}

const noPath = "<nil>"

/** The API server shows the type of a value that breaks a rule, not the value. */
const typeShown = ({ schema }: RuleNode): string => schema.type ?? ""

const shown = ({ message = "", rule }: ValidationRule): string => (message === "" ? rule : message).trim()

const failureText = ({ message }: EvaluationError, rule: ValidationRule): string =>
  message.startsWith("no such overload")
    ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown(rule)}`
    : `${message} evaluating rule: ${shown(rule)}`

/** One line that is not empty and not too long; anything else is replaced by the rule's other message. */
const usableMessage = (made: Value): string | undefined => {
  const text = typeof made === "string" ? made.trim() : ""
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > longestMessage ? undefined : text
}

const reasoned = ({ reason }: ValidationRule, field: string, value: string, detail: string): FieldError => {
  switch (reason) {
    case "FieldValueForbidden":
      return forbidden(field, detail)
    case "FieldValueRequired":
      return required(field, detail)
    case "FieldValueDuplicate":
      return duplicate(field, value)
    default:
      return invalid(field, value, detail)
  }
}

/** `self` and `oldSelf` of all rules of a value, converted once. Throws EvaluationError. */
const variablesOf = ({ type }: RuleNode, value: unknown, old: unknown) => {
  let self: Value | undefined
  let oldSelf: Value | undefined
  return ({ optionalOldSelf }: ValidationRule): Readonly<Record<string, Value>> => {
    self ??= type?.convert(value) ?? null
    if (old !== undefined) oldSelf ??= type?.convert(old)
    if (optionalOldSelf === true) return { self, oldSelf: optionalOf(oldSelf) }
    return oldSelf === undefined ? { self } : { self, oldSelf }
  }
}
