/** What prevents a recorder from starting, other than its configuration and the cluster. */
import * as Schema from "effect/Schema"

/** A problem of the machine prevents recording; the message says what to do. */
export class RecorderError extends Schema.TaggedError<RecorderError>()("RecorderError", {
  message: Schema.String,
}) {}
