import * as Schema from "effect/Schema"
import { asTyped } from "./invocation.ts"

/** The command line is invalid: exit code 2, nothing was done. */
export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", {
  /** As the user types it: `reel export`. */
  command: Schema.String,
  /** What is invalid and what is allowed, in one line. */
  problem: Schema.String,
}) {
  override get message(): string {
    return asTyped(`${this.command}: ${this.problem}\nTry "${this.command} --help".`)
  }
}
