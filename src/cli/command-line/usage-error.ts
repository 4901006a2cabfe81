import * as Schema from "effect/Schema"

/** The command line is wrong: exit code 2, nothing was done. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  /** As it is typed: `reel export`. */
  command: Schema.String,
  /** What is wrong and what is allowed; one line. */
  problem: Schema.String,
}) {
  override get message(): string {
    return `${this.command}: ${this.problem}\nTry "${this.command} --help".`
  }
}
