import * as Schema from "effect/Schema"

/** Bytes that are no message of the kind they claim to be; says why, where the server has words for it in its own. */
export class ProtobufError extends Schema.TaggedError<ProtobufError>()("ProtobufError", { problem: Schema.String }) {
  override get message(): string {
    return this.problem
  }
}
