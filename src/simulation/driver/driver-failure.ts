/** Why a repetition of a Simulation failed. */
import * as Schema from "effect/Schema"

/** A failure that a person can do something about; everything that the repetition created has been removed, unless the message says otherwise. */
export class DriverFailure extends Schema.TaggedError<DriverFailure>()("DriverFailure", {
  /** What happened, to which object, and what to change: one sentence. */
  problem: Schema.String,
}) {
  override get message(): string {
    return this.problem
  }
}
