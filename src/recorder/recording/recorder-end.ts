/** How a recording ends. */
import * as Schema from "effect/Schema"
import type { ActorGaveUp } from "../../runtime/errors.ts"

/** The files of the recording were removed or moved while it was being written. */
export class RecordingGone extends Schema.TaggedError<RecordingGone>()("RecordingGone", {
  message: Schema.String,
}) {}

/** The store could not be opened or keeps failing: nothing can be recorded. */
export type RecorderEnd = ActorGaveUp | RecordingGone

/** How a recording was closed. */
export interface RecorderClose {
  /** Events committed in the store's last life; `undefined` if it was not closed in order. */
  readonly events: number | undefined
  /** Kinds whose last received events could not be written. The server may still have them. */
  readonly unwritten: ReadonlyArray<string>
}
