import * as Schema from "effect/Schema"

/** Bytes that are not a message of the kind they claim to be, with the reason in the server's words where it has any. */
export class ProtobufError extends Schema.TaggedError<ProtobufError>()("ProtobufError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
