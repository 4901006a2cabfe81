/** Expressions without variables, for tests. */

import { Meter } from "../../../src/sandbox/cel/meter.ts"
import { CompileError, CostLimitError, EvaluationError } from "../../../src/sandbox/cel/problems.ts"
import { compile } from "../../../src/sandbox/cel/program.ts"
import { dyn } from "../../../src/sandbox/cel/types.ts"
import { List, type Value } from "../../../src/sandbox/cel/values.ts"

/** The value of an expression; its variables have any type. */
export const evaluated = (text: string, variables: Readonly<Record<string, Value>> = {}): Value =>
  compile(text, new Map(Object.keys(variables).map((name) => [name, dyn]))).run(variables, new Meter())

export const costOf = (text: string): number => {
  const meter = new Meter()
  compile(text, new Map()).run({}, meter)
  return meter.cost
}

/** Why there is no value: `compile …`, `evaluate …` or `limit …`. Any other failure is a defect. */
export const problemOf = (text: string, variables: Readonly<Record<string, Value>> = {}): string | undefined => {
  try {
    evaluated(text, variables)
    return undefined
  } catch (error) {
    if (error instanceof CompileError) return `compile: ${error.message}`
    if (error instanceof EvaluationError) return `evaluate: ${error.message}`
    if (error instanceof CostLimitError) return `limit: ${error.message}`
    throw error
  }
}

export const integers = (...items: number[]): List => new List(items.map(BigInt))
