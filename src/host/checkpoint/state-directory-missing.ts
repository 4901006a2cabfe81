/** A module asks for a checkpoint, and the host has no directory for it. */
import * as Schema from "effect/Schema"

export class StateDirectoryMissing extends Schema.TaggedError<StateDirectoryMissing>()("StateDirectoryMissing", {
  module: Schema.String,
}) {
  override get message(): string {
    return "it asks for a checkpoint, but the host has no directory for it: start reel host with --state-directory DIRECTORY"
  }
}
