/**
 * What a recorder is recording, kept in the recording itself: the settings of its kinds and their states. Exports depend on both, so a
 * recording that is read without its recorder has to contain them.
 *
 * Written at the start and at every change of a state, which are rare; not when the recorder stops, because every kind stops then, and how
 * the recording was until the end would be overwritten.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { TrackedKind } from "../configuration/tracked-kind.ts"

/** Key of the recording's metadata. */
export const recorderStateKey = "recorder"

const State = Schema.Literals(["listing", "catching-up", "watching", "waiting", "forbidden", "failing", "stopped"])

/** A KindStatus. */
const Status = Schema.Struct({
  gvk: Schema.String,
  state: State,
  detail: Schema.String,
  namespaces: Schema.Array(Schema.Struct({ namespace: Schema.String, state: State, detail: Schema.String })),
  since: Schema.Number,
  isRefused: Schema.Boolean,
})

const RecorderState = Schema.fromJsonString(
  Schema.Struct({
    kinds: Schema.Array(TrackedKind),
    /** Kinds that were recorded until the server had them no longer, for exports of the time before. Absent: none. */
    former: Schema.optionalKey(Schema.Array(TrackedKind)),
    /** Includes pods that are watched for their lifecycles only. */
    statuses: Schema.Array(Status),
    /** Those that were installed later than a recorder of this directory looked for them first. */
    appeared: Schema.Array(Schema.String),
  }),
)
export type RecorderState = typeof RecorderState.Type

export const encodeRecorderState: (state: RecorderState) => string = Schema.encodeSync(RecorderState)

/** `undefined` for a text of another version. */
export const decodeRecorderState = (text: string): RecorderState | undefined => {
  const reading = Schema.decodeUnknownResult(RecorderState)(text)
  return Result.isSuccess(reading) ? reading.success : undefined
}
