/** The errors that controllers meet besides those of the API client. */

import * as Schema from "effect/Schema"

/** A definition that cannot work: a mistake in the program. Thrown by `defineController` and `runControllers`. */
export class InvalidControllerError extends Schema.TaggedError<InvalidControllerError>()("InvalidControllerError", {
  /** The controller's name, perhaps empty. */
  controller: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `controller ${JSON.stringify(this.controller)}: ${this.problem}`
  }
}

/** A cached read of a kind that the controller does not watch. */
export class NotWatchedError extends Schema.TaggedError<NotWatchedError>()("NotWatchedError", {
  controller: Schema.String,
  /** As the caller wrote it. */
  kind: Schema.String,
}) {
  override get message(): string {
    return `controller ${JSON.stringify(this.controller)} does not watch ${this.kind}: add it to owns, watches or reads`
  }
}

/** The object has another controller already, or may not have this one. */
export class OwnershipError extends Schema.TaggedError<OwnershipError>()("OwnershipError", {
  /** `v1.Pod default/web`. */
  object: Schema.String,
  owner: Schema.String,
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.owner} cannot own ${this.object}: ${this.problem}`
  }
}

/**
 * A failure that a retry cannot mend, such as a spec that makes no sense. Thrown or returned by `reconcile`, it is reported and counted, and the
 * key is not tried again until an object changes (controller-runtime's TerminalError).
 */
export class TerminalError extends Schema.TaggedError<TerminalError>()("TerminalError", {
  detail: Schema.String,
}) {
  override get message(): string {
    return this.detail
  }
}
