/** The kinds of a recording, with what is known about each without reading an object. */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import {
  formatGvk,
  hasStatus,
  parseGvk,
  recordsStatus,
  type StatusRecorded,
  statusAlways,
  statusNever,
} from "../../kube/offline.ts"
import { podLivesKind } from "../../trace/index.ts"
import type { DiscoveredKind } from "../../wire/index.ts"
import { firstListsOf } from "../reading/first-lists.ts"
import { decodeDiscovery, discoveryKey } from "../rows/discovery.ts"
import { prepare } from "../tables/database.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/** Times are µs since the Unix epoch. */
interface RecordedKindFacts {
  /** `apps/v1.Deployment`. */
  readonly gvk: string
  /** When its first list was complete; 0 while it is in progress. */
  readonly since: number
  /** Up to and including this moment it is known, apart from gaps. */
  readonly until: number
  /** It was added later than the recorder had its first lists. Absent: it belongs to the beginning of the recording. */
  readonly isLater?: true
  /** Whether its objects are in namespaces; `undefined`: discovery was not recorded, and there is no object. */
  readonly namespaced: boolean | undefined
  /** `undefined`: not recorded. */
  readonly discovered: DiscoveredKind | undefined
  /** Which of its objects are recorded, in words; the empty string or `all namespaces`: all. */
  readonly selection: string
  /** Which changes of an object were recorded, as the recorder is set now: `all`, `content` or `spec`; the empty string: not known. */
  readonly detect: string
  readonly status: StatusRecorded
}

/** In the order in which they were first recorded. */
export const recordedKinds = (recording: QueriedRecording): ReadonlyArray<RecordedKindFacts> => {
  const metadata = recording.metadata()
  const discovered = new Map(decodeDiscovery(metadata.get(discoveryKey)).map((kind) => [kind.gvk, kind]))
  const lists = firstListsOf(recording.kinds, metadata)
  const { detectOf, statusOf } = keptSettings(metadata)
  const first = prepare<{ readonly namespace: string }>(
    recording.database,
    "SELECT namespace FROM object WHERE kind = ? LIMIT 1",
  )
  return recording.kinds
    .filter(({ gvk }) => gvk !== podLivesKind)
    .map(({ id, gvk, recordedSince, selection }) => {
      const namespace = recording.reading(() => first.get(id)?.namespace)
      const facts = discovered.get(gvk)
      return {
        ...{ gvk, since: recordedSince, until: recording.knownUntil(gvk), selection, discovered: facts },
        ...{ detect: detectOf(gvk), status: statusOf(gvk) },
        ...(recordedSince > (lists?.kinds.get(gvk) ?? 0) && { isLater: true as const }),
        namespaced: facts?.namespaced ?? (namespace === undefined ? undefined : namespace !== ""),
      }
    })
}

/** What the recorder keeps of its settings, as far as it concerns how a kind was recorded. */
interface KeptSettings {
  /** The empty string: not known. */
  readonly detectOf: (gvk: string) => string
  /**
   * Older recordings do not say when status was recorded; the last recorder's settings are assumed for all of it. A
   * kind without settings counts as fully recorded.
   */
  readonly statusOf: (gvk: string) => StatusRecorded
}

/** `metadata`: of a recording. */
export const keptSettings = (metadata: ReadonlyMap<string, string>): KeptSettings => {
  const { kinds = [], former = [], statusRecorded = {} } = settingsIn(metadata.get("recorder") ?? "{}")
  const detects = new Map(kinds.map(({ gvk, detect }) => [formatGvk(gvk), detect]))
  const settings = new Map([...former, ...kinds].map((kind) => [formatGvk(kind.gvk), kind]))
  const statuses = new Map<string, StatusRecorded>()
  const statusOf = (gvk: string): StatusRecorded => {
    const parsed = parseGvk(gvk)
    if (parsed !== undefined && !hasStatus(parsed)) return statusAlways
    const stored = Object.hasOwn(statusRecorded, gvk) ? statusRecorded[gvk] : undefined
    const kind = settings.get(gvk)
    return stored ?? (kind === undefined || recordsStatus(kind.gvk, kind) ? statusAlways : statusNever)
  }
  return {
    detectOf: (gvk) => detects.get(gvk) ?? "",
    statusOf: (gvk) => {
      const known = statuses.get(gvk) ?? statusOf(gvk)
      statuses.set(gvk, known)
      return known
    },
  }
}

/** When changes of status were recorded, by kind. */
export const StatusRecordedByKind = Schema.Record(
  Schema.String,
  Schema.Struct({ from: Schema.Number, to: Schema.Number }),
)

const StoredKind = Schema.Struct({
  gvk: Schema.Struct({ group: Schema.String, version: Schema.String, kind: Schema.String }),
  detect: Schema.String,
  ignore: Schema.Array(Schema.String),
})

/** The part that this module needs of what the recorder writes. */
const StoredSettings = Schema.fromJsonString(
  Schema.Struct({
    kinds: Schema.optionalKey(Schema.Array(StoredKind)),
    former: Schema.optionalKey(Schema.Array(StoredKind)),
    statusRecorded: Schema.optionalKey(StatusRecordedByKind),
  }),
)

/** A text of another version says nothing. */
const settingsIn = (text: string): typeof StoredSettings.Type => {
  const reading = Schema.decodeUnknownResult(StoredSettings)(text)
  return Result.isSuccess(reading) ? reading.success : {}
}

/** µs since the Unix epoch, both inclusive. */
interface RecordedRange {
  /** When the first list of any kind was complete; 0 if none is. */
  readonly since: number
  /** The last moment at which anything is known. */
  readonly until: number
}

/** From when to when anything is recorded. */
export const recordedRange = (recording: QueriedRecording): RecordedRange => {
  const kinds = recordedKinds(recording)
  const since = kinds.map((kind) => kind.since).filter((time) => time !== 0)
  return { since: since.length === 0 ? 0 : Math.min(...since), until: Math.max(0, ...kinds.map(({ until }) => until)) }
}
