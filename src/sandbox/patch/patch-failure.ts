/**
 * Why a patch was refused, with the code and the reason of Kubernetes 1.34.4 (compared with a running server), so that the
 * REST layer only has to wrap it in a `Status`.
 *
 * For some mistakes of clients (a missing merge key, a field that is not in the schema, a duplicate in a set) the real
 * server sends a 500 without a reason: its code does not classify the error. So does this one.
 */

import * as Schema from "effect/Schema"

/** 400: not a patch of its kind at all. */
export class MalformedPatchError extends Schema.TaggedError<MalformedPatchError>()("MalformedPatchError", {
  problem: Schema.String,
}) {
  get code(): 400 {
    return 400
  }
  get reason(): "BadRequest" {
    return "BadRequest"
  }
  override get message(): string {
    return this.problem
  }
}

/** 413: more operations in a JSON patch than the server accepts. */
export class PatchTooLargeError extends Schema.TaggedError<PatchTooLargeError>()("PatchTooLargeError", {
  operations: Schema.Number,
  limit: Schema.Number,
}) {
  get code(): 413 {
    return 413
  }
  get reason(): "RequestEntityTooLarge" {
    return "RequestEntityTooLarge"
  }
  override get message(): string {
    return `a JSON patch may have at most ${this.limit} operations, not ${this.operations}`
  }
}

/** 422: a patch that does not fit the object. The server never reports what was wrong; `problem` does, for logs. */
export class InapplicablePatchError extends Schema.TaggedError<InapplicablePatchError>()("InapplicablePatchError", {
  problem: Schema.String,
}) {
  get code(): 422 {
    return 422
  }
  get reason(): "Invalid" {
    return "Invalid"
  }
  override get message(): string {
    return "the server rejected our request due to an error in our request"
  }
}

/** 500 without a reason: an error that the real server's patch code does not classify. */
export class UnclassifiedPatchError extends Schema.TaggedError<UnclassifiedPatchError>()("UnclassifiedPatchError", {
  problem: Schema.String,
}) {
  get code(): 500 {
    return 500
  }
  get reason(): undefined {
    return undefined
  }
  override get message(): string {
    return this.problem
  }
}

/** One entry of `details.causes` of a 409. */
export const ConflictCause = Schema.Struct({
  reason: Schema.Literal("FieldManagerConflict"),
  message: Schema.String,
  field: Schema.String,
})
export type ConflictCause = typeof ConflictCause.Type

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

/** All errors that the functions of this folder throw (`applyServerSide` returns conflicts, it does not throw them). */
export type PatchFailure =
  | MalformedPatchError
  | PatchTooLargeError
  | InapplicablePatchError
  | UnclassifiedPatchError
  | ApplyConflict
