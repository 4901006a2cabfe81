/** Compiles expressions: parsed and checked once, evaluated often. */

import type { Environment } from "@marcbachmann/cel-js"
import { addresses } from "./addresses.ts"
import { CompileError, EvaluationError, Meter, metered } from "./evaluation.ts"
import { namedFormats } from "./formats.ts"
import { lists, loops } from "./lists.ts"
import type { Node } from "./node.ts"
import { prepare, undeclared } from "./prepare.ts"
import { quantities } from "./quantities.ts"
import { texts } from "./texts.ts"
import { times } from "./times.ts"
import { urls } from "./urls.ts"
import { library, type Value } from "./values.ts"
import { versions } from "./versions.ts"

/**
 * Functions by their signatures, and types by their names. The arguments of a function have the types of the signature; the receiver of a method
 * is the first.
 */
export interface Extension {
  readonly types?: Readonly<Record<string, new (...args: never[]) => object>>
  readonly functions: ReadonlyArray<readonly [signature: string, run: (...args: never[]) => unknown]>
}

/**
 * The functions of the API server's CEL environment in Kubernetes 1.34, for expressions that are new: those that were added in 1.34
 * itself (`slice`, `flatten`, `distinct`, `reverse`, `range`, `sort` of lists) are usable there from 1.35 on. Missing is the `authorizer`.
 */
const extensions: ReadonlyArray<Extension> = [texts, lists, times, quantities, addresses, urls, versions, namedFormats]

/** Functions of ours whose names the library has too; its own cannot be replaced. */
const replaced: ReadonlySet<string> = new Set(["matches", "join", "lowerAscii", "upperAscii"])

/** What functions with a dot are methods of: `ip.isCanonical`. */
const prefixes = ["ip", "sets", "strings", "format"]

/** The API server's. */
const longestExpression = 100_000

interface Base {
  readonly environment: Environment
  readonly known: ReadonlySet<string>
}

let base: Base | undefined

const makeBase = (): Base => {
  const limits = { maxAstNodes: longestExpression, maxDepth: 250, maxListElements: longestExpression }
  const environment = new (library().Environment)({
    enableOptionalTypes: true,
    homogeneousAggregateLiterals: false,
    limits: { ...limits, maxMapEntries: longestExpression, maxCallArguments: 1000 },
  })
  for (const prefix of prefixes) {
    const Prefix = class {}
    environment.registerType(`Of.${prefix}`, Prefix)
    environment.registerConstant(prefix, `Of.${prefix}`, new Prefix())
  }
  for (const { types = {} } of extensions)
    for (const [name, type] of Object.entries(types)) environment.registerType(name, type)
  for (const [signature, run] of [...loops, ...extensions.flatMap(({ functions }) => functions)])
    environment.registerFunction(signature, run as () => unknown, { async: false })
  const names = environment.getDefinitions().functions.map(({ name }) => name)
  return { environment, known: new Set([...names, ...replaced]) }
}

const useBase = (): Base => {
  base ??= makeBase()
  return base
}

/** An environment to which variables and types can be added. */
export const newEnvironment = (): Environment => useBase().environment.clone()

export interface Program {
  /** As the library writes it: `list<int>`. */
  readonly type: string
  /** The variables that it reads. */
  readonly reads: ReadonlySet<string>
  /** Throws EvaluationError, CostLimitError. */
  readonly run: (variables: Readonly<Record<string, Value>>, meter?: Meter) => Value
}

/** Throws {@link CompileError}. */
export const compile = (environment: Environment, text: string): Program => {
  if (text.length > longestExpression)
    throw new CompileError({ problem: `expression code point size exceeds limit: ${longestExpression}`, position: 0 })
  const parsed = attempt(() => environment.parse(text))
  const { reads, constants } = prepare(parsed.ast as unknown as Node, replaced)
  const { error, type = "dyn" } = parsed.check()
  if (error !== undefined) throw compileError(error)
  for (const { start, end } of constants) attempt(() => environment.evaluate(text.slice(start, end)), start)
  return {
    type,
    reads,
    run: (variables, meter = new Meter()) =>
      metered(meter, () => {
        try {
          return parsed(variables)
        } catch (cause) {
          throw cause instanceof EvaluationError ? cause : new EvaluationError({ problem: evaluationProblem(cause) })
        }
      }),
  }
}

const attempt = <Result>(run: () => Result, start = 0): Result => {
  try {
    return run()
  } catch (error) {
    throw compileError(error, start)
  }
}

/** The library's errors. */
interface LibraryError extends Error {
  readonly code?: string
  readonly summary?: string
  readonly range?: { readonly start: number }
}

const compileError = (error: unknown, start = 0): CompileError => {
  if (!(error instanceof Error)) throw error
  const { name, code, summary = error.message, range }: LibraryError = error
  const position = start + (range?.start ?? 0)
  const [, subject = ""] = /^(?:No such key|Unknown variable): (.*)$/.exec(summary) ?? []
  if (name === "ParseError") return new CompileError({ problem: `Syntax error: ${summary}`, position })
  // Of the dot, where CEL's own compiler points to.
  if (code === "no_such_key")
    return new CompileError({ problem: `undefined field '${subject}'`, position: position - 1 })
  if (code === "unknown_variable") return new CompileError({ problem: undeclared(subject), position })
  const [, called = ""] = /^found no matching overload for '(?:[^(]*\.)?(\w+)\(/.exec(summary) ?? []
  const isUnknown = code === "no_matching_overload" && !useBase().known.has(called)
  return new CompileError({ problem: isUnknown ? undeclared(called) : summary.replace("_(", "("), position })
}

const evaluationProblem = (error: unknown): string => {
  if (!(error instanceof Error)) throw error
  const { code = "", summary = error.message }: LibraryError = error
  if (code === "numeric_overflow") return "integer overflow"
  if (code === "no_such_overload" || code === "no_matching_overload") return "no such overload"
  return summary.replace(/^No such key: (index)?/, (_, index?: string) =>
    index === undefined ? "no such key: " : index,
  )
}

/** The text in the form of CEL's own compiler: the problem, the line it is in, and a mark below. */
export const describeProblem = (text: string, { problem, position }: CompileError): string => {
  const before = text.slice(0, position).split("\n")
  const column = before.at(-1)?.length ?? 0
  const line = text.split("\n")[before.length - 1] ?? ""
  return `ERROR: <input>:${before.length}:${column + 1}: ${problem}\n | ${line}\n | ${".".repeat(column)}^`
}
