/** The kinds of a recording, with what is known about each without reading an object. */
import { formatGvk, type GroupVersionKind } from "../../kube/gvk.ts"
import { podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import type { DiscoveredKind } from "../../wire/discovered-kind.ts"
import { firstListsOf } from "../reading/first-lists.ts"
import { decodeDiscovery, discoveryKey } from "../rows/discovery.ts"
import type { QueriedRecording } from "./queried-recording.ts"

/** Times are µs since the Unix epoch. */
export interface RecordedKindFacts {
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
}

/** In the order in which they were first recorded. */
export const recordedKinds = (recording: QueriedRecording): ReadonlyArray<RecordedKindFacts> => {
  const metadata = recording.metadata()
  const discovered = new Map(decodeDiscovery(metadata.get(discoveryKey)).map((kind) => [kind.gvk, kind]))
  const lists = firstListsOf(recording.kinds, metadata)
  const detected = detectOf(metadata.get("recorder"))
  const first = recording.database.prepare("SELECT namespace FROM object WHERE kind = ? LIMIT 1")
  return recording.kinds
    .filter(({ gvk }) => gvk !== podLivesKind)
    .map(({ id, gvk, recordedSince, selection }) => {
      const namespace = recording.reading(() => first.get(id)?.namespace)
      const facts = discovered.get(gvk)
      return {
        ...{ gvk, since: recordedSince, until: recording.knownUntil(gvk), selection, discovered: facts },
        detect: detected.get(gvk) ?? "",
        ...(recordedSince > (lists?.kinds.get(gvk) ?? 0) && { isLater: true as const }),
        namespaced: facts?.namespaced ?? (namespace === undefined ? undefined : namespace !== ""),
      }
    })
}

/** By kind, from what the recorder keeps of its settings (src/recorder/recording/recorder-state.ts). A text of another version says nothing. */
const detectOf = (settings = ""): ReadonlyMap<string, string> => {
  try {
    const { kinds } = JSON.parse(settings) as { readonly kinds: ReadonlyArray<KeptSettings> }
    return new Map(kinds.map(({ gvk, detect }) => [formatGvk(gvk), String(detect)]))
  } catch {
    return new Map()
  }
}

interface KeptSettings {
  readonly gvk: GroupVersionKind
  readonly detect: unknown
}

/** µs since the Unix epoch, both inclusive. */
export interface RecordedRange {
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
