/**
 * Why a patch was refused, with the code and the reason of Kubernetes 1.34.4 (compared with a running server), so that the
 * REST layer only has to wrap it in a `Status`.
 *
 * For some mistakes of clients (a missing merge key, a field that is not in the schema, a duplicate in a set) the real
 * server sends a 500 without a reason: its code does not classify the error. So does this one.
 */

import * as Schema from "effect/Schema"

const reasons = { 400: "BadRequest", 413: "RequestEntityTooLarge", 422: "Invalid", 500: undefined } as const

/** A patch that is refused regardless of other writers. */
export class PatchError extends Schema.TaggedError<PatchError>()("PatchError", {
  /**
   * 400: not a patch of its kind at all. 413: more operations than the server takes. 422: it does not fit the object. 500: an error
   * that the real server's patch code does not classify.
   */
  code: Schema.Literals([400, 413, 422, 500]),
  problem: Schema.String,
}) {
  get reason(): (typeof reasons)[keyof typeof reasons] {
    return reasons[this.code]
  }
  /** For a 422 the server never reports what was wrong; `problem` does, for logs. */
  override get message(): string {
    return this.code === 422 ? "the server rejected our request due to an error in our request" : this.problem
  }
}

/** One entry of `details.causes` of a 409. */
const ConflictCause = Schema.Struct({
  reason: Schema.Literal("FieldManagerConflict"),
  message: Schema.String,
  field: Schema.String,
})

/** 409: other managers own fields for which the applied configuration has another value. */
export class ApplyConflict extends Schema.TaggedError<ApplyConflict>()("ApplyConflict", {
  conflictCauses: Schema.Array(ConflictCause),
  text: Schema.String,
}) {
  get code(): 409 {
    return 409
  }
  get reason(): "Conflict" {
    return "Conflict"
  }
  override get message(): string {
    return this.text
  }
}
