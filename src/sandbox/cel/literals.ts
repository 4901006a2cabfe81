/** Literals that a function could only fail for: they are refused when the expression is compiled, not when it is evaluated. */

import { compiledPattern } from "./functions/patterns.ts"
import { parseGoDuration, parseTimestamp } from "./functions/time-texts.ts"
import { CompileError, EvaluationError } from "./problems.ts"
import type { Expression } from "./syntax.ts"

const isPattern = (text: string): boolean => {
  try {
    return compiledPattern(text) !== undefined
  } catch (error) {
    if (error instanceof EvaluationError) return false
    throw error
  }
}

interface Rule {
  /** Which argument; the receiver of a method is the first. */
  readonly index: number
  readonly isValid: (text: string) => boolean
}

const rules: ReadonlyMap<string, Rule> = new Map([
  ...["matches", "find", "findAll"].map((name) => [name, { index: 1, isValid: isPattern }] as const),
  ["duration", { index: 0, isValid: (text: string) => parseGoDuration(text) !== undefined }],
  ["timestamp", { index: 0, isValid: (text: string) => parseTimestamp(text) !== undefined }],
])

/** Throws {@link CompileError}. */
export const checkLiterals = (name: string, args: ReadonlyArray<Expression>): void => {
  const rule = rules.get(name)
  const argument = rule === undefined ? undefined : args[rule.index]
  if (argument?.op !== "constant" || typeof argument.value !== "string" || rule?.isValid(argument.value) !== false)
    return
  throw new CompileError({ problem: `invalid ${name} argument`, position: argument.position })
}
