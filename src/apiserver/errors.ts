/**
 * What the control interface refuses. All of these are mistakes of the caller (a test or a benchmark), so they are
 * thrown; what clients do wrong over HTTP is answered with a {@link Failure} instead (failure.ts).
 */

import * as Schema from "effect/Schema"

/** A kind that is neither built in nor registered. */
export class UnknownKindError extends Schema.TaggedError<UnknownKindError>()("UnknownKindError", {
  gvk: Schema.String,
}) {
  override get message(): string {
    return `the sandbox serves no ${this.gvk}; register it first`
  }
}

/** A kind or a path that is already served by another registration. */
export class KindConflictError extends Schema.TaggedError<KindConflictError>()("KindConflictError", {
  gvk: Schema.String,
  plural: Schema.String,
}) {
  override get message(): string {
    return `the sandbox already serves ${this.gvk} or the path of ${this.plural}; unregister it first`
  }
}

/** A deletion of something that does not exist. */
export class UnknownObjectError extends Schema.TaggedError<UnknownObjectError>()("UnknownObjectError", {
  gvk: Schema.String,
  namespace: Schema.String,
  name: Schema.String,
}) {
  override get message(): string {
    return `no ${this.gvk} named ${this.namespace === "" ? "" : `${this.namespace}/`}${this.name}`
  }
}

/** A restart at a revision whose state the bounded history no longer holds. */
export class RevisionNotHeldError extends Schema.TaggedError<RevisionNotHeldError>()("RevisionNotHeldError", {
  revision: Schema.String,
  gvk: Schema.String,
  oldest: Schema.String,
}) {
  override get message(): string {
    return `the state at revision ${this.revision} is not held: the history of ${this.gvk} starts at ${this.oldest}`
  }
}
