/**
 * What a recorder is recording, kept in the recording itself: the settings of its kinds and their states. Exports depend on both, so a
 * recording that is read without its recorder has to contain them.
 *
 * Written at the start and at every change of a state, which are rare; not when the recorder stops, because every kind stops then, and how
 * the recording was until the end would be overwritten.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { StatusRecordedByKind } from "../../archive/index.ts"
import { recordsStatus, type StatusRecorded, statusAlways, statusNever } from "../../kube/offline.ts"
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
    /** `K/N`: it is one of N recordings of its cluster. Absent: the only one. */
    shard: Schema.optionalKey(Schema.String),
    kinds: Schema.Array(TrackedKind),
    /** Kinds that were recorded until the server had them no longer, for exports of the time before. Absent: none. */
    former: Schema.optionalKey(Schema.Array(TrackedKind)),
    /** When changes of status were recorded, of every kind that ever was. Absent: an earlier version wrote the text. */
    statusRecorded: Schema.optionalKey(StatusRecordedByKind),
    /** Includes pods that are watched for their lifecycles only. */
    statuses: Schema.Array(Status),
    /** Those that were installed later than a recorder of this directory looked for them first. */
    appeared: Schema.Array(Schema.String),
  }),
)
export type RecorderState = typeof RecorderState.Type

/**
 * When changes of status were recorded, now that these kinds are: the state before says until now. A kind that is recorded for the first time has its
 * status from its beginning; one whose settings have changed, from now on, or until now.
 */
export const statusRecordedNow = (
  kinds: ReadonlyArray<TrackedKind>,
  before: Readonly<Record<string, StatusRecorded>>,
  nowMicros: number,
): Readonly<Record<string, StatusRecorded>> => {
  const now: Record<string, StatusRecorded> = { ...before }
  for (const kind of kinds) {
    const { gvkText } = kind
    const known = Object.hasOwn(before, gvkText) ? before[gvkText] : undefined
    const isOpen = known?.to === statusAlways.to
    if (recordsStatus(kind.gvk, kind)) {
      if (!isOpen) now[gvkText] = known === undefined ? statusAlways : { from: nowMicros, to: statusAlways.to }
    } else if (known === undefined) now[gvkText] = statusNever
    else if (isOpen) now[gvkText] = { from: known.from, to: nowMicros }
  }
  return now
}

/** Of the state that an earlier version wrote: as it is set. */
export const statusRecordedBefore = (state: RecorderState): Readonly<Record<string, StatusRecorded>> =>
  state.statusRecorded ?? statusRecordedNow([...(state.former ?? []), ...state.kinds], {}, 0)

export const encodeRecorderState: (state: RecorderState) => string = Schema.encodeSync(RecorderState)

/** `undefined` for a text of another version. */
export const decodeRecorderState = (text: string): RecorderState | undefined => {
  const reading = Schema.decodeUnknownResult(RecorderState)(text)
  return Result.isSuccess(reading) ? reading.success : undefined
}
