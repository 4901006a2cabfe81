/**
 * A recording as the items of a trace: the state at the start, then every change and gap, then the lifecycles of pods if Pods are not recorded. What happens to be recorded while it is read is
 * not part of it. Memory is that of {@link ArchiveReader.snapshotAt} and {@link ArchiveReader.events}.
 */
import { podKind, podLivesKind } from "../../trace/pods/pod-lives-kind.ts"
import { sameStartMicros } from "../../trace/same-start.ts"
import type { IncompletePart, TraceItem } from "../../trace/trace-item.ts"
import type { ArchiveReader } from "../archive-reader.ts"
import type { KindState } from "../rows/kind-table.ts"
import { recordedLifecycles } from "./recorded-lifecycles.ts"

/** µs since the Unix epoch. */
export interface RecordedWindow {
  /** Inclusive. Default: when the recorder's first lists were complete, so that the state at the start is whole. */
  readonly from: number | undefined
  /** Exclusive. Default: up to when the recording is known to be complete. */
  readonly to: number | undefined
}

/**
 * The header's window is that of the whole recording (from its default start if `from` is not given), so that a reader can tell whether it
 * has what was requested. Bytes in items are valid until the next item is taken. Throws CorruptArchiveError and ArchiveIoError.
 */
export function* recordedTrace(
  reader: ArchiveReader,
  { from, to = Number.MAX_SAFE_INTEGER }: RecordedWindow,
): Generator<TraceItem, void, void> {
  const cut = reader.cut()
  const { minTime, maxTime } = reader.summary()
  const all = reader.kinds()
  const kinds = all.filter(({ gvk }) => gvk !== podLivesKind)
  const hasLifecycles = kinds.length < all.length && kinds.every(({ gvk }) => gvk !== podKind)
  const first = kinds.filter(isListedWith(Math.min(...kinds.map((kind) => sinceOf(kind) || Number.POSITIVE_INFINITY))))
  // The last object of a list may have the time at which the list was complete. A kind without objects has no state to wait for.
  const lists = first.filter((kind) => hasObjects(reader, kind, cut)).map((kind) => sinceOf(kind) + 1)
  const whole = Math.max(minTime, ...lists)
  const end = Math.max(maxTime + 1, ...kinds.map(completeTimeOf))
  const start = from ?? whole
  const untilTime = Math.min(to, end)
  const late = reader.lateRanges({ cut, fromTime: start, untilTime, kinds: kinds.map(({ gvk }) => gvk) })
  const clusterUid = reader.metadata().get("clusterUid")
  yield {
    type: "header",
    window: { start: from === undefined ? whole : minTime, end },
    cut,
    kinds: kinds.map(({ gvk }) => gvk),
    incomplete: kinds.flatMap((kind) =>
      from === undefined && first.includes(kind) ? [] : (lackingOf(kind, start, end) ?? []),
    ),
    ...(clusterUid !== undefined && { clusterUid }),
    ...(hasLifecycles && { hasLifecycles }),
    ...(late.length > 0 && { late }),
  }
  for (const event of reader.snapshotAt({ cut, time: start })) yield { type: "event", event, isSnapshot: true }
  for (const event of reader.events({ cut, fromTime: start, untilTime }))
    yield { type: "event", event, isSnapshot: false }
  if (hasLifecycles)
    for (const owned of recordedLifecycles(reader, { cut, untilTime })) yield { type: "lifecycles", ...owned }
}

const isListedWith =
  (firstTime: number) =>
  (kind: KindState): boolean => {
    const since = sinceOf(kind)
    return since !== 0 && since <= firstTime + sameStartMicros
  }

const hasObjects = (reader: ArchiveReader, kind: KindState, cut: number): boolean =>
  reader.snapshotAt({ cut, time: sinceOf(kind) + 1, kinds: [kind.gvk] }).next().done !== true

/** When the first list of a kind was complete, of one that is recorded namespace by namespace the last of its first lists; 0: not yet. */
const sinceOf = ({ recordedSince, namespaces }: KindState): number => {
  if (recordedSince !== 0 || namespaces.length === 0) return recordedSince
  const all = namespaces.map((each) => each.recordedSince)
  return all.includes(0) ? 0 : Math.max(...all)
}

const completeTimeOf = ({ completeThroughTime, namespaces }: KindState): number =>
  Math.max(completeThroughTime, ...namespaces.map(({ completeTime }) => completeTime))

/** In the words that exports use: `unrecorded`, or `recorded-START/END`. */
const lackingOf = (kind: KindState, start: number, end: number): IncompletePart | undefined => {
  const { gvk } = kind
  const complete = sinceOf(kind)
  if (complete === 0 || complete >= end) return { gvk, state: "unrecorded" }
  if (complete <= start) return undefined
  const [since, until] = [complete, end].map((micros) => new Date(micros / 1000).toISOString())
  return { gvk, state: `recorded-${since}/${until}` }
}
