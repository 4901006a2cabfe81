/** Compiles expressions: parsed and checked once, evaluated often. */

import { checkExpression } from "./check.ts"
import { evaluate } from "./evaluate.ts"
import { functions, qualifiedNames } from "./functions/index.ts"
import type { Meter } from "./meter.ts"
import { parseExpression } from "./parse.ts"
import type { CompileError } from "./problems.ts"
import { type CelType, simple } from "./types.ts"
import { TypeName, type Value } from "./values.ts"

export interface Program {
  readonly type: CelType
  /** The variables that it reads. */
  readonly reads: ReadonlySet<string>
  /** Throws EvaluationError, CostLimitError. */
  readonly run: (variables: Readonly<Record<string, Value>>, meter: Meter) => Value
}

/** Names that stand for types, to compare with what `type()` returns. */
const typeNames: ReadonlyMap<string, TypeName> = new Map(
  ["bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"].map((name) => [
    name,
    new TypeName(name),
  ]),
)

/** Throws {@link CompileError}. */
export const compile = (text: string, variables: ReadonlyMap<string, CelType>): Program => {
  const expression = parseExpression(text, qualifiedNames)
  const types = [...typeNames.keys()].map((name) => [name, simple("type")] as const)
  const { type, reads } = checkExpression(expression, { variables: new Map([...types, ...variables]), functions })
  return {
    type,
    reads,
    run: (values, meter) =>
      evaluate(
        expression,
        { get: (name) => (Object.hasOwn(values, name) ? values[name] : typeNames.get(name)) },
        functions,
        meter,
      ),
  }
}

/** The text in the form of CEL's own compiler: the problem, the line it is in, and a mark below. */
export const describeProblem = (text: string, { problem, position }: CompileError): string => {
  const before = text.slice(0, position).split("\n")
  const column = before.at(-1)?.length ?? 0
  const line = text.split("\n")[before.length - 1] ?? ""
  return `ERROR: <input>:${before.length}:${column + 1}: ${problem}\n | ${line}\n | ${".".repeat(column)}^`
}
