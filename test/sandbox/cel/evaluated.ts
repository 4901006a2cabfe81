/** Expressions without a schema, for tests. */

import { CompileError, CostLimitError, EvaluationError, Meter } from "../../../src/sandbox/cel/evaluation.ts"
import { compile, newEnvironment } from "../../../src/sandbox/cel/program.ts"
import type { Value } from "../../../src/sandbox/cel/values.ts"

/** The value of an expression; its variables have any type. */
export const evaluated = (
  text: string,
  variables: Readonly<Record<string, Value>> = {},
  meter = new Meter(),
): Value => {
  const environment = newEnvironment()
  for (const name of Object.keys(variables)) environment.registerVariable(name, "dyn")
  return compile(environment, text).run(variables, meter)
}

/** Why there is no value: `compile …`, `evaluate …` or `limit …`. Any other failure is a defect. */
export const problemOf = (text: string, ...rest: [Readonly<Record<string, Value>>?, Meter?]): string | undefined => {
  try {
    evaluated(text, ...rest)
    return undefined
  } catch (error) {
    if (error instanceof CompileError) return `compile: ${error.message}`
    if (error instanceof EvaluationError) return `evaluate: ${error.message}`
    if (error instanceof CostLimitError) return `limit: ${error.message}`
    throw error
  }
}
