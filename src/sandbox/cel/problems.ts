/** The ways in which an expression fails. */

import * as Schema from "effect/Schema"

/** An expression that is not valid CEL, or has a type that does not fit. */
export class CompileError extends Schema.TaggedError<CompileError>()("CompileError", {
  problem: Schema.String,
  /** The character of the expression at which the problem was found, from 0. */
  position: Schema.Number,
}) {
  override get message(): string {
    return this.problem
  }
}

/** An evaluation without a value: a missing key, an overflow, an index beyond the end. `&&` and `||` may absorb it. */
export class EvaluationError extends Schema.TaggedError<EvaluationError>()("EvaluationError", {
  problem: Schema.String,
}) {
  override get message(): string {
    return this.problem
  }
}

/** An evaluation that was stopped because it costs too much; nothing absorbs it. */
export class CostLimitError extends Schema.TaggedError<CostLimitError>()("CostLimitError", {}) {
  override get message(): string {
    return "operation cancelled: actual cost limit exceeded"
  }
}

export const fail = (problem: string): never => {
  throw new EvaluationError({ problem })
}
