import * as Schema from "effect/Schema"

/** The command line is invalid: exit code 2, nothing was done. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  /** `reel export`. */
  command: Schema.String,
  /** What is invalid and what is allowed, in one line. */
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.command}: ${this.problem}\nTry "${this.command} --help".`
  }
}
