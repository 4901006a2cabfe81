/**
 * What expressions are made of inside the library: nodes of the parsed text that check their types and evaluate themselves. Its
 * declarations say less than its macros are given, so the parts that are used here are described here.
 */

import type { Value } from "./values.ts"

/** A type as the checker knows it. */
export interface CheckedType {
  readonly name: string
  readonly kind: "primitive" | "list" | "map" | "message" | "dyn" | "optional" | "param"
  readonly keyType: CheckedType
  readonly valueType: CheckedType
  /** T of `dyn<T>`; of others the type itself. */
  readonly unwrappedType: CheckedType
  readonly matches: (other: CheckedType) => boolean
  /** The field or item; `undefined` if there is none. */
  readonly fieldLazy: (value: Value, key: Value, at: Node, evaluator: Evaluator) => Value | undefined
}

/** The variables of a place: those of an expression, and of the macros around it. */
export interface Scope {
  readonly forkWithVariable: (name: string, type: CheckedType) => Scope
  readonly reuse: (outer: Scope) => Scope
  readonly setIterValue: (value: Value, evaluator: Evaluator) => Scope
}

export interface Checker {
  readonly check: (node: Node, scope: Scope) => CheckedType
  readonly getType: (name: string) => CheckedType
  readonly createError: (code: string, message: string, at: Node) => Error
}

interface Evaluator {
  readonly run: (node: Node, scope: Scope) => Value
  readonly debugType: (value: Value) => CheckedType
}

export type Check<Self = Node> = (checker: Checker, self: Self, scope: Scope) => CheckedType
type Evaluate<Self = Node> = (evaluator: Evaluator, self: Self, scope: Scope) => Value

/** A call that checks and evaluates its arguments itself. */
export interface Macro {
  readonly typeCheck: Check<Macro>
  readonly evaluate: Evaluate<Macro>
  readonly async: false
}

export interface MacroCall {
  readonly args: ReadonlyArray<Node>
  readonly receiver: Node
}

interface Meta {
  check: Check
  evaluate: Evaluate
  macro: Macro | undefined
  /** What a macro of the library stands for. */
  alternate: Node | undefined
  async: boolean
}

export interface Node {
  readonly op: string
  readonly args: unknown
  readonly start: number
  readonly end: number
  readonly meta: Meta
  /** Of operators, once they are checked. */
  readonly handle?: (left: Value, right: Value, at: Node, evaluator: Evaluator) => Value
  readonly checkedType?: CheckedType
}

/** Of the function or method. */
export const calledName = ({ args }: Node): string => String(Array.isArray(args) ? args[0] : args)

/** The name that an argument of a macro declares; `undefined` if it is no name. */
export const declaredName = (node: Node | undefined): string | undefined =>
  node?.op === "id" ? String(node.args) : undefined
