/**
 * Errors of the control interface, except those for unknown kinds (apiserver/kinds/resources.ts). They are mistakes of
 * the caller, a test or a benchmark, so they are thrown.
 */
import * as Schema from "effect/Schema"

/** A deletion of an object that does not exist. */
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
