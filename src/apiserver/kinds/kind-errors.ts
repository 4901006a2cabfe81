/**
 * Errors of a registry of kinds. They are mistakes of the calling program, so they are thrown; mistakes of HTTP clients
 * get a {@link Failure} instead (answers/failure.ts).
 */

import * as Schema from "effect/Schema"

/** A kind that is neither built in nor registered. */
export class UnknownKindError extends Schema.TaggedError<UnknownKindError>()("UnknownKindError", {
  gvk: Schema.String,
}) {
  override get message(): string {
    return `the kind ${this.gvk} is not served; register it first`
  }
}

/** A kind or a path that is already served by another registration. */
export class KindConflictError extends Schema.TaggedError<KindConflictError>()("KindConflictError", {
  gvk: Schema.String,
  plural: Schema.String,
}) {
  override get message(): string {
    return `the kind ${this.gvk} or the path of ${this.plural} is already served; unregister it first`
  }
}
