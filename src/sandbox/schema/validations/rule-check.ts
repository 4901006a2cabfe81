/**
 * Objects against the rules of their schema, within a budget for all rules of an object together. A rule that an update does not change
 * the value of, and that does not look at the old value, is reported as a warning only.
 */

import { duplicate, type FieldError, forbidden, invalid, required } from "../../../apiserver/answers/field-error.ts"
import type { StructuralSchema, ValidationRule } from "../../../apiserver/openapi/structural-schema.ts"
import { isRecord } from "../../../is-record.ts"
import { memberOf } from "../../../own-member.ts"
import { Meter } from "../../cel/meter.ts"
import { CostLimitError, EvaluationError } from "../../cel/problems.ts"
import type { Program } from "../../cel/program.ts"
import { Optional, type Value } from "../../cel/values.ts"
import { Correlation, keyedItems, oldItemOf } from "../custom/correlation.ts"
import { checkCustomValue } from "../custom/custom-schema.ts"
import type { CompiledRule, RuleNode } from "./compiled-rules.ts"
import { valueBySchema } from "./schema-values.ts"

/** In the units of a meter; ten expressions may use up their limit. */
const budgetOfAll = 10_000_000

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
  const found = checkRules(rules, object, old)
  return { errors: [...errors, ...found.errors], tolerated: found.tolerated }
}

/** `old` is the object that is replaced; absent for a new one. */
const checkRules = (rules: RuleNode, object: unknown, old: unknown): RuleFindings => {
  const check = new RuleCheck()
  const correlated = old === undefined ? undefined : new Correlation(object, old, rules.schema)
  check.node(rules, "", object, old, { correlated, parent: undefined })
  return check
}

interface Ratchet {
  readonly correlated: Correlation | undefined
  /** The nearest one above that has a counterpart. */
  readonly parent: Correlation | undefined
}

const below = ({ correlated, parent }: Ratchet, child: Correlation | undefined): Ratchet =>
  correlated === undefined ? { correlated, parent } : { correlated: child, parent: correlated }

const isTolerated = ({ correlated, parent }: Ratchet): boolean => (correlated ?? parent)?.isUnchanged === true

class RuleCheck implements RuleFindings {
  readonly errors: FieldError[] = []
  readonly tolerated: FieldError[] = []
  #budget = budgetOfAll
  /** Whether nothing more is checked, because it would cost too much. */
  #isOver = false

  node(node: RuleNode, path: string, value: unknown, old: unknown, ratchet: Ratchet): void {
    if (this.#isOver || value === null || value === undefined) return
    if (node.rules.length > 0) this.#rules(node, path, value, old ?? undefined, ratchet)
    for (const part of node.allOf) this.node(part, path, value, old, { correlated: undefined, parent: ratchet.parent })
    if (Array.isArray(value)) this.#items(node, path, value, old, ratchet)
    else if (isRecord(value)) this.#members(node, path, value, old, ratchet)
  }

  #items(node: RuleNode, path: string, value: ReadonlyArray<unknown>, old: unknown, ratchet: Ratchet): void {
    if (node.items === undefined) return
    const known = Array.isArray(old) ? keyedItems(old, node.schema) : undefined
    for (const [index, item] of value.entries()) {
      const counterpart = oldItemOf(item, known, node.schema)
      this.node(node.items, `${path}[${index}]`, item, counterpart, below(ratchet, ratchet.correlated?.item(index)))
    }
  }

  #members(
    node: RuleNode,
    path: string,
    value: Readonly<Record<string, unknown>>,
    old: unknown,
    ratchet: Ratchet,
  ): void {
    for (const [name, member] of Object.entries(value)) {
      const property = node.properties.get(name)
      const child = property ?? node.values
      if (child === undefined) continue
      const place = property === undefined ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`
      const counterpart = isRecord(old) ? memberOf(old, name) : undefined
      this.node(child, place, member, counterpart, below(ratchet, ratchet.correlated?.field(name)))
    }
  }

  #rules(node: RuleNode, path: string, value: unknown, old: unknown, ratchet: Ratchet): void {
    const report = (detail: string): void => {
      this.errors.push(invalid(path || noPath, typeShown(node), detail))
    }
    if (this.#budget <= 0) {
      this.#isOver = true
      return report(outOfBudget)
    }
    const variables = new RuleVariables(node, value, old)
    for (const compiled of node.rules) {
      const { rule, program, usesOldSelf } = compiled
      if (typeof program === "string") {
        report(`rule compile error: ${program}`)
        continue
      }
      if (usesOldSelf && old === undefined && rule.optionalOldSelf !== true) continue
      const outcome = this.#outcome(program, () => variables.of(rule))
      if (this.#budget < 0) {
        this.#isOver = true
        return report(outOfBudget)
      }
      if (outcome instanceof CostLimitError) {
        this.#isOver = true
        return report(
          `'${outcome.message}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown(rule)}`,
        )
      }
      if (outcome instanceof EvaluationError) report(failureText(outcome, rule))
      else if (outcome !== true) {
        const broken = this.#broken(node, compiled, path, () => variables.of(rule))
        if (!usesOldSelf && isTolerated(ratchet)) this.tolerated.push(broken)
        else this.errors.push(broken)
        if (this.#isOver) return
      }
    }
  }

  /** The value, or why there is none. Charges the budget. */
  #outcome(
    program: Program,
    variables: () => Readonly<Record<string, Value>>,
  ): Value | EvaluationError | CostLimitError {
    const meter = new Meter()
    try {
      return program.run(variables(), meter)
    } catch (error) {
      if (error instanceof EvaluationError || error instanceof CostLimitError) return error
      throw error
    } finally {
      this.#budget -= meter.cost
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
    const problem =
      this.#budget < 0
        ? "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
        : made instanceof CostLimitError
          ? `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(rule.messageExpression)}`
          : undefined
    if (problem !== undefined) {
      this.#isOver = true
      return invalid(field, typeShown(node), problem)
    }
    return reasoned(rule, field, typeShown(node), usableMessage(made) ?? usual)
  }
}

const noPath = "<nil>"
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run"

/** The API server shows the type of a value that breaks a rule, not the value. */
const typeShown = ({ schema }: RuleNode): string => schema.type ?? ""

const shown = ({ message = "", rule }: ValidationRule): string => (message === "" ? rule : message).trim()

const failureText = ({ message }: EvaluationError, rule: ValidationRule): string =>
  message.startsWith("no such overload")
    ? `'${message}': call arguments did not match a supported operator, function or macro signature for rule: ${shown(rule)}`
    : `${message} evaluating rule: ${shown(rule)}`

/** One line that is not empty and not too long; anything else is replaced by the rule's other message. */
const usableMessage = (made: Value | Error): string | undefined => {
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

/** `self` and `oldSelf` of all rules of a value, converted once. */
class RuleVariables {
  readonly #node: RuleNode
  readonly #value: unknown
  readonly #old: unknown
  #self: Value | undefined
  #oldSelf: Value | undefined

  constructor(node: RuleNode, value: unknown, old: unknown) {
    this.#node = node
    this.#value = value
    this.#old = old
  }

  /** Throws EvaluationError. */
  of(rule: ValidationRule): Readonly<Record<string, Value>> {
    const { schema, isResource } = this.#node
    this.#self ??= valueBySchema(this.#value, schema, isResource)
    if (this.#old !== undefined) this.#oldSelf ??= valueBySchema(this.#old, schema, isResource)
    if (rule.optionalOldSelf === true) return { self: this.#self, oldSelf: new Optional(this.#oldSelf) }
    return this.#oldSelf === undefined ? { self: this.#self } : { self: this.#self, oldSelf: this.#oldSelf }
  }
}
