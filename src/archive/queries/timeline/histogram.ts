/** How many changes there were in each part of a window: exact. A block that lies wholly in one column is counted by its row, and not unpacked. */
import { columnOf, type TileWindow } from "../../../timeline/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { rowsOf } from "../../tables/database.ts"
import { DamageFound } from "../damage-found.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "../shortcomings.ts"
import type { TimelineQuestion } from "./lanes.ts"
import type { TimelineCache } from "./timeline-cache.ts"

interface HistogramQuestion extends TimelineQuestion, TileWindow {}

interface Histogram {
  /** Changes in each column. */
  readonly counts: Float64Array
  readonly lacks: Shortcomings
}

/** With a pause after each block that is read. @throws ArchiveError */
export function* histogramOf(
  recording: QueriedRecording,
  cache: TimelineCache,
  question: HistogramQuestion,
): Generator<undefined, Histogram, void> {
  const { kinds, namespace, from, to } = question
  const counts = new Float64Array(question.width)
  const damage = new DamageFound(recording)
  for (const kind of kinds.flatMap((gvk) => recording.kindOf(gvk) ?? [])) {
    yield* count({ recording, cache, question, counts }, kind)
    damage.noteLostTables(kind, 0, from, to + 1)
  }
  return { counts, lacks: shortcomingsOf(recording, { kinds, namespace, from, to }, damage.gaps) }
}

interface Counting {
  readonly recording: QueriedRecording
  readonly cache: TimelineCache
  readonly question: HistogramQuestion
  readonly counts: Float64Array
}

interface BlockOfKind {
  readonly key: number
  readonly minTime: number
  readonly maxTime: number
  readonly events: number
}

function* count(counting: Counting, kind: KeptKind): Generator<undefined, void, void> {
  const { recording, question, counts } = counting
  const { from, to } = question
  const { removedThrough, throughSequence } = recording.source.beginningOf(kind)
  const isCounted = yield* countedObjects(counting, kind)
  const blocks = recording.reading(() =>
    rowsOf<BlockOfKind>(
      recording.database,
      `SELECT last_sequence AS key, min_time AS minTime, max_time AS maxTime, events FROM block_kind
      WHERE kind = ? AND last_sequence > ? AND max_time >= ? AND min_time <= ? ORDER BY last_sequence`,
      ...[kind.id, throughSequence, from, to],
    ),
  )
  /** The first key of a run of blocks that have to be read, and the last. */
  let after = throughSequence
  for (const { key, minTime, maxTime, events } of blocks) {
    const column = columnOf(question, Math.max(from, minTime))
    const isWhole = minTime > removedThrough && minTime >= from && maxTime <= to && key <= recording.cut
    if (isWhole && isCounted === undefined && columnOf(question, maxTime) === column)
      counts[column] = (counts[column] as number) + events
    else yield* countEvents(counting, kind, { after, key, isCounted })
    after = key
  }
}

interface BlockToRead {
  readonly after: number
  readonly key: number
  readonly isCounted: ((number: number) => boolean) | undefined
}

/** The events after one sequence number and up to another. */
function* countEvents(
  { recording, question, counts }: Counting,
  kind: KeptKind,
  { after, key, isCounted }: BlockToRead,
): Generator<undefined, void, void> {
  const { from, to } = question
  const last = Math.min(key, recording.cut)
  for (const frame of recording.source.framesOf(kind, after, from)) {
    if (frame.firstSequence > last) return
    for (let at = frame.firstIndexAfter(after); at < frame.events.count; at++) {
      const time = frame.time(at)
      if (time > to || frame.sequence(at) > last) return
      if (time < from || isCounted?.(frame.events.objectNumber(at)) === false) continue
      const column = columnOf(question, time)
      counts[column] = (counts[column] as number) + 1
    }
    yield undefined
    if (frame.lastSequence >= last) return
  }
}

/** Which objects of a kind are counted; `undefined`: all. */
function* countedObjects(
  { recording, cache, question: { namespace, shownNamespaces } }: Counting,
  kind: KeptKind,
): Generator<undefined, ((number: number) => boolean) | undefined, void> {
  const shown = shownNamespaces?.(kind.gvk)
  if (namespace === undefined && shown === undefined) return undefined
  cache.renew(recording)
  const { directory } = cache
  yield* directory.read(recording, kind)
  const isIn = directory.namespaces.map(
    (name) => (namespace === undefined || name === namespace) && shown?.has(name) !== false,
  )
  const counted = new Uint8Array(kind.nextObjectNumber)
  const { numbers, namespaces } = directory.columns
  for (const row of directory.rowsOf(kind))
    if (isIn[namespaces[row] as number] === true) counted[numbers[row] as number] = 1
  return (number) => counted[number] === 1
}
