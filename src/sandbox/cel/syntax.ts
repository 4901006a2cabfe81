/** Expressions as trees, with operators as calls (`_+_`) and macros as nodes of their own. */

import type { Value } from "./values.ts"

interface Node {
  /** The character of the text at which it begins, from 0. */
  readonly position: number
}

export type Expression =
  | (Node & { readonly op: "constant"; readonly value: Value })
  | (Node & { readonly op: "identifier"; readonly name: string })
  /** `operand.field`; optional: `operand.?field`. */
  | (Node & {
      readonly op: "select"
      readonly operand: Expression
      readonly field: string
      readonly isOptional: boolean
    })
  /** `has(operand.field)`. */
  | (Node & { readonly op: "has"; readonly operand: Expression; readonly field: string })
  /** `operand[key]`; optional: `operand[?key]`. */
  | (Node & {
      readonly op: "index"
      readonly operand: Expression
      readonly key: Expression
      readonly isOptional: boolean
    })
  /** The receiver of a method is the first argument. */
  | (Node & Call)
  | (Node & { readonly op: "list"; readonly items: ReadonlyArray<Expression> })
  | (Node & { readonly op: "map"; readonly entries: ReadonlyArray<readonly [Expression, Expression]> })
  | (Node & {
      readonly op: "conditional"
      readonly condition: Expression
      readonly yes: Expression
      readonly no: Expression
    })
  | (Node & { readonly op: "and" | "or"; readonly left: Expression; readonly right: Expression })
  | (Node & Fold)
  /** `operand.optMap(variable, body)`, or `optFlatMap` with a body that is optional itself. */
  | (Node & {
      readonly op: "optional-map"
      readonly operand: Expression
      readonly variable: string
      readonly body: Expression
      readonly isFlat: boolean
    })

interface Call {
  readonly op: "call"
  readonly name: string
  readonly isMethod: boolean
  readonly args: ReadonlyArray<Expression>
}

export const foldMacros = [
  "all",
  "exists",
  "exists_one",
  "map",
  "filter",
  "transformList",
  "transformMap",
  "transformMapEntry",
] as const

/** A macro over the items of a list or the keys of a map. */
export interface Fold {
  readonly op: "fold"
  readonly macro: (typeof foldMacros)[number]
  readonly range: Expression
  /** One (item or key), or two (index and item, or key and value). */
  readonly variables: readonly [string] | readonly [string, string]
  /** Of `map`, `transformList` and `transformMap`: items for which it is false are left out. */
  readonly filter: Expression | undefined
  readonly body: Expression
}
