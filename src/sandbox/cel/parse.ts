/**
 * The text of an expression as a tree. The grammar is a library's, which is loaded with the first expression: it takes 9 MB and 28 ms,
 * and most clusters never need it. Macros are recognised here.
 *
 * Not understood, and therefore refused as a syntax error: optional entries of literals (`[?x]`, `{?'key': x}`), messages (`Type{field: 1}`),
 * names in backticks, and names with a leading dot.
 */

import { createRequire } from "node:module"
import type { ASTNode, Environment } from "@marcbachmann/cel-js"
import { CompileError } from "./problems.ts"
import { type Expression, type Fold, foldMacros } from "./syntax.ts"
import { Uint, type Value } from "./values.ts"

/** Functions and constants whose names have a dot: `ip.isCanonical`. */
type QualifiedNames = ReadonlySet<string>

/** The API server's: longer texts and deeper trees are refused. */
const longestExpression = 100_000
const deepestExpression = 250

let grammar: Environment | undefined

const loadGrammar = (): Environment => {
  const library = createRequire(import.meta.url)("@marcbachmann/cel-js") as typeof import("@marcbachmann/cel-js")
  const limit = longestExpression
  return new library.Environment({
    enableOptionalTypes: true,
    unlistedVariablesAreDyn: true,
    limits: {
      maxAstNodes: limit,
      maxDepth: deepestExpression,
      maxListElements: limit,
      maxMapEntries: limit,
      maxCallArguments: 1000,
    },
  })
}

/** Throws {@link CompileError}. */
export const parseExpression = (text: string, qualified: QualifiedNames): Expression => {
  if (text.length > longestExpression)
    throw new CompileError({ problem: `expression code point size exceeds limit: ${longestExpression}`, position: 0 })
  grammar ??= loadGrammar()
  return new Conversion(qualified).convert(parsed(grammar, text), [], 0)
}

const parsed = (environment: Environment, text: string): ASTNode => {
  try {
    return environment.parse(text).ast
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "ParseError") throw error
    const { summary, range } = error as Error & { summary?: string; range?: { start: number } }
    throw new CompileError({ problem: `Syntax error: ${summary ?? error.message}`, position: range?.start ?? 0 })
  }
}

const operatorNames: Readonly<Record<string, string>> = {
  "==": "_==_",
  "!=": "_!=_",
  "<": "_<_",
  "<=": "_<=_",
  ">": "_>_",
  ">=": "_>=_",
  "+": "_+_",
  "-": "_-_",
  "*": "_*_",
  "/": "_/_",
  "%": "_%_",
  in: "@in",
  "!_": "!_",
  "-_": "-_",
}

type Scope = ReadonlyArray<string>

class Conversion {
  readonly #qualified: QualifiedNames

  constructor(qualified: QualifiedNames) {
    this.#qualified = qualified
  }

  convert(node: ASTNode, scope: Scope, depth: number): Expression {
    const position = node.start
    if (depth > deepestExpression) throw new CompileError({ problem: "expression recursion limit exceeded", position })
    const inner = (child: ASTNode): Expression => this.convert(child, scope, depth + 1)
    switch (node.op) {
      case "value":
        return { op: "constant", value: constantOf(node.args, position), position }
      case "id":
        return { op: "identifier", name: node.args, position }
      case ".":
      case ".?":
        return {
          op: "select",
          operand: inner(node.args[0]),
          field: node.args[1],
          isOptional: node.op === ".?",
          // Of the dot, where CEL's own compiler points to.
          position: node.pos - (node.op === "." ? 1 : 2),
        }
      case "[]":
      case "[?]":
        return {
          op: "index",
          operand: inner(node.args[0]),
          key: inner(node.args[1]),
          isOptional: node.op === "[?]",
          position,
        }
      case "list":
        return { op: "list", items: node.args.map(inner), position }
      case "map":
        return { op: "map", entries: node.args.map(([key, value]) => [inner(key), inner(value)] as const), position }
      case "?:": {
        const [condition, yes, no] = node.args
        return { op: "conditional", condition: inner(condition), yes: inner(yes), no: inner(no), position }
      }
      case "&&":
      case "||": {
        const [left, right] = node.args
        return { op: node.op === "&&" ? "and" : "or", left: inner(left), right: inner(right), position }
      }
      case "!_":
        return { op: "call", name: "!_", isMethod: false, args: [inner(node.args)], position }
      case "-_":
        return negated(inner(node.args), position)
      case "call":
        return this.#call(node.args[0], node.args[1], scope, depth, position)
      case "rcall":
        return this.#method(node.args, scope, depth, position)
      default: {
        const name = operatorNames[node.op]
        if (name === undefined) throw new CompileError({ problem: `unsupported operator ${node.op}`, position })
        return { op: "call", name, isMethod: false, args: node.args.map(inner), position }
      }
    }
  }

  #call(name: string, args: ReadonlyArray<ASTNode>, scope: Scope, depth: number, position: number): Expression {
    const [only] = args
    if (name === "has" && args.length === 1 && only !== undefined) {
      if (only.op !== ".") throw new CompileError({ problem: "invalid argument to has() macro", position })
      return { op: "has", operand: this.convert(only.args[0], scope, depth + 1), field: only.args[1], position }
    }
    return {
      op: "call",
      name,
      isMethod: false,
      args: args.map((arg) => this.convert(arg, scope, depth + 1)),
      position,
    }
  }

  #method(
    [name, receiver, args]: readonly [string, ASTNode, ReadonlyArray<ASTNode>],
    scope: Scope,
    depth: number,
    position: number,
  ): Expression {
    if (receiver.op === "id" && !scope.includes(receiver.args) && this.#qualified.has(`${receiver.args}.${name}`))
      return this.#call(`${receiver.args}.${name}`, args, scope, depth, position)
    const macro = name === "existsOne" && args.length === 3 ? "exists_one" : foldMacros.find((known) => known === name)
    const shape = macro === undefined ? undefined : foldShape(macro, args.length)
    if (macro !== undefined && shape !== undefined)
      return this.#fold(macro, receiver, args, shape, scope, depth, position)
    const isFlat = name === "optFlatMap"
    const [first, body] = args
    if ((isFlat || name === "optMap") && args.length === 2 && first !== undefined && body !== undefined) {
      const variable = variableOf(first)
      return {
        op: "optional-map",
        operand: this.convert(receiver, scope, depth + 1),
        variable,
        body: this.convert(body, [...scope, variable], depth + 1),
        isFlat,
        position,
      }
    }
    const all = [receiver, ...args].map((arg) => this.convert(arg, scope, depth + 1))
    return { op: "call", name, isMethod: true, args: all, position }
  }

  #fold(
    macro: Fold["macro"],
    receiver: ASTNode,
    args: ReadonlyArray<ASTNode>,
    { variables: count, isFiltered }: FoldShape,
    scope: Scope,
    depth: number,
    position: number,
  ): Expression {
    const names = args.slice(0, count).map(variableOf)
    const [one = "", other] = names
    const within = [...scope, ...names]
    const rest = args.slice(count).map((arg) => this.convert(arg, within, depth + 1))
    const body = rest.at(-1)
    if (body === undefined) throw new CompileError({ problem: `${macro}() needs an expression`, position })
    if (one === other) throw new CompileError({ problem: `duplicate variable name: ${one}`, position })
    return {
      op: "fold",
      macro,
      range: this.convert(receiver, scope, depth + 1),
      variables: other === undefined ? [one] : [one, other],
      filter: isFiltered ? rest[0] : undefined,
      body,
      position,
    }
  }
}

interface FoldShape {
  readonly variables: number
  readonly isFiltered: boolean
}

/** How the arguments of a macro are to be read; `undefined` if it is an ordinary method with that number of them. */
const foldShape = (macro: Fold["macro"], count: number): FoldShape | undefined => {
  if (macro.startsWith("transform"))
    return count === 3 || count === 4 ? { variables: 2, isFiltered: count === 4 } : undefined
  if (count === 2) return { variables: 1, isFiltered: false }
  if (count !== 3 || macro === "filter") return undefined
  return macro === "map" ? { variables: 1, isFiltered: true } : { variables: 2, isFiltered: false }
}

const variableOf = (node: ASTNode): string => {
  if (node.op === "id" && node.args !== "__result__") return node.args
  throw new CompileError({ problem: "argument must be a simple name", position: node.start })
}

/** The library's literals; only the smallest integer, which is written with a sign, may be out of range until {@link negated}. */
const constantOf = (literal: unknown, position: number): Value => {
  if (literal instanceof Uint8Array) return literal
  if (typeof literal === "bigint" && literal > -smallestInteger)
    throw new CompileError({ problem: "Syntax error: invalid int literal", position })
  if (typeof literal !== "object" || literal === null) return literal as Value
  return new Uint(BigInt((literal as { valueOf(): bigint | number }).valueOf()))
}

const smallestInteger = -(2n ** 63n)

const negated = (operand: Expression, position: number): Expression => {
  if (operand.op === "constant" && (typeof operand.value === "bigint" || typeof operand.value === "number"))
    return { op: "constant", value: -operand.value as Value, position }
  return { op: "call", name: "-_", isMethod: false, args: [operand], position }
}
