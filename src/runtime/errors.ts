/**
 * Every way in which the runtime itself fails. Errors in an actor's own work belong to the actor; these are about threads, mailboxes and
 * calls. All are Schema errors, so that they keep their tag across a thread boundary.
 */
import * as Schema from "effect/Schema"

/** The actor's thread ended (crash, kill, shutdown) before the call was answered. The call may or may not have taken effect. */
export class ActorGone extends Schema.TaggedError<ActorGone>()("ActorGone", {
  actor: Schema.String,
  /** Why the thread ended, for people. */
  reason: Schema.String,
}) {
  override get message(): string {
    return `actor ${this.actor} is gone: ${this.reason}`
  }
}

/** The actor did not respond to a control call in time. It may still be working on it. */
export class CallDeadlineExceeded extends Schema.TaggedError<CallDeadlineExceeded>()("CallDeadlineExceeded", {
  actor: Schema.String,
  method: Schema.String,
  /** ms that were allowed. */
  deadline: Schema.Number,
}) {
  override get message(): string {
    return `actor ${this.actor} did not reply to ${this.method} within ${this.deadline} ms`
  }
}

/** A defect inside the actor while it served a call: a bug, not a domain error. Carries text, since stacks do not cross threads. */
export class CallDefect extends Schema.TaggedError<CallDefect>()("CallDefect", {
  actor: Schema.String,
  method: Schema.String,
  description: Schema.String,
}) {
  override get message(): string {
    return `actor ${this.actor} failed unexpectedly in ${this.method}: ${this.description}`
  }
}

/** An actor is not restarted: it crashed too often, or its first life failed with an error that a restart cannot fix. */
export class ActorGaveUp extends Schema.TaggedError<ActorGaveUp>()("ActorGaveUp", {
  actor: Schema.String,
  /** Crashes within `windowMs`. */
  crashes: Schema.Number,
  windowMs: Schema.Number,
  lastReason: Schema.String,
}) {
  override get message(): string {
    if (this.crashes === 1) return `actor ${this.actor} could not be started: ${this.lastReason}`
    return `actor ${this.actor} crashed ${this.crashes} times within ${this.windowMs / 1000} s and is not restarted again; last error: ${this.lastReason}`
  }
}

export type CallError = ActorGone | CallDeadlineExceeded | CallDefect
