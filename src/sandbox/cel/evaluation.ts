/** The ways in which an expression fails, and the bounds of an evaluation. */

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

/** An evaluation that was stopped because it takes too many steps; nothing absorbs it. */
export class CostLimitError extends Schema.TaggedError<CostLimitError>()("CostLimitError", {}) {
  override get message(): string {
    return "operation cancelled: actual cost limit exceeded"
  }
}

/** Throws {@link EvaluationError}. */
export const fail = (problem: string): never => {
  throw new EvaluationError({ problem })
}

/** Some 0.5 s. The API server counts costs instead, which are another measure of the same. */
const stepLimit = 5_000_000

/** Characters of one text: `replace` could otherwise make one of 9 TB from two of 3 MB. */
const longestText = 16 * 1024 * 1024

/** ms. Some functions take a text as one step, however long it is. */
const timeLimit = 2000

/** The steps, and the time, that some evaluations may take together. */
export class Meter {
  remaining = stepLimit
  /** ms, as by `performance.now()`. */
  readonly deadline: number

  constructor(milliseconds = timeLimit) {
    this.deadline = performance.now() + milliseconds
  }
}

// Evaluations are synchronous, so that one meter at a time is in use. Functions count with it wherever they loop.
let inUse = new Meter()
const exceeded = new CostLimitError({})
/** The clock is read now and then: it costs as much as some steps. */
const stepsPerLook = 64
let untilLook = stepsPerLook

/** Throws {@link CostLimitError}. */
export const step = (count = 1): void => {
  inUse.remaining -= count
  untilLook--
  if (untilLook === 0) {
    untilLook = stepsPerLook
    if (performance.now() > inUse.deadline) inUse.remaining = -1
  }
  if (inUse.remaining < 0) throw exceeded
}

/** Before a text of that length is made. Throws {@link CostLimitError}. */
export const reserve = (characters: number): void =>
  step(characters > longestText ? Infinity : Math.ceil(characters / 64))

/** Throws {@link CostLimitError} even if the evaluation has absorbed it, and whatever else the evaluation throws. */
export const metered = <Result>(meter: Meter, evaluate: () => Result): Result => {
  inUse = meter
  try {
    return evaluate()
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: an exceeded limit replaces the outcome.
    if (meter.remaining < 0) throw exceeded
  }
}
