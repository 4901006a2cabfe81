/**
 * The lanes of a window: the objects that existed at any moment of it, whether they changed or not, as a tree. From checkpoints, the rows of objects and two
 * tables of contents a kind; no object is read, and no change between the two ends.
 */
import { LaneTree } from "../../../timeline/index.ts"
import type { ObjectStates } from "../../checkpoints/object-states.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { prepare } from "../../tables/database.ts"
import { DamageFound } from "../damage-found.ts"
import type { ObjectSelection } from "../objects/object-selection.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "../shortcomings.ts"
import { aliveAt } from "../state-at.ts"
import type { DirectoryRow } from "./lane-directory.ts"
import type { TimelineCache } from "./timeline-cache.ts"

/** A window of a time line. */
export interface TimelineQuestion extends Pick<ObjectSelection, "namespace" | "shownNamespaces"> {
  /** By name. */
  readonly kinds: ReadonlyArray<string>
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
}

interface LanesQuestion extends TimelineQuestion {
  /** A part of a name. */
  readonly find?: string | undefined
}

/** What of the lanes is known. */
interface WindowLanes {
  readonly tree: LaneTree
  readonly lacks: Shortcomings
}

/** With a pause after each kind. @throws ArchiveError */
export function* lanesOf(
  recording: QueriedRecording,
  cache: TimelineCache,
  question: LanesQuestion,
): Generator<undefined, WindowLanes, void> {
  const { kinds: gvks, namespace, from, to, find = "" } = question
  const kinds = gvks.flatMap((gvk) => recording.kindOf(gvk) ?? [])
  const part = { kinds: gvks, namespace, from, to }
  const shown = gvks.map((gvk) => [gvk, ...(question.shownNamespaces?.(gvk) ?? ["*"])])
  const key = JSON.stringify([from, to, namespace, find, shown])
  const beginnings = kinds.map((kind) => recording.source.beginningOf(kind).throughSequence).join()
  const known = cache.tree(key)
  if (known?.beginnings === beginnings && (known.cut ?? recording.cut) === recording.cut)
    return { tree: known.tree, lacks: shortcomingsOf(recording, part) }
  const damage = new DamageFound(recording)
  const rows: DirectoryRow[] = []
  for (const kind of kinds) {
    yield undefined
    // One after the other: as arguments of one call, 100,000 would overflow the stack.
    for (const row of rowsIn(recording, cache, kind, damage, question)) rows.push(row)
  }
  const tree = new LaneTree(rows, find)
  const isFinal = kinds.every(({ gvk }) => recording.knownUntil(gvk) >= to)
  // What damage hides is said with every answer, so it is looked for each time.
  if (damage.count === 0) cache.keepTree(key, { tree, cut: isFinal ? undefined : recording.cut, beginnings })
  return { tree, lacks: shortcomingsOf(recording, part, damage.gaps) }
}

const rowsIn = (
  recording: QueriedRecording,
  cache: TimelineCache,
  kind: KeptKind,
  damage: DamageFound,
  { from, to, namespace, shownNamespaces }: LanesQuestion,
): ReadonlyArray<DirectoryRow> => {
  const shown = shownNamespaces?.(kind.gvk)
  if (shown?.size === 0 || to < kind.removedThrough) return []
  const isIn = (row: DirectoryRow): boolean =>
    (namespace === undefined || row.namespace === namespace) && shown?.has(row.namespace) !== false
  const { cut, source } = recording
  const statesAt = (time: number): ObjectStates => aliveAt(recording, kind, damage, { cut, time })
  const before = statesAt(Math.max(from - 1, kind.removedThrough))
  let after: ObjectStates | undefined
  const first = Math.max(sequenceAt(recording, kind, from - 1), source.beginningOf(kind).throughSequence)
  const last = sequenceAt(recording, kind, to)
  return cache.directory.rowsOf(recording, kind).filter((row) => {
    if (!isIn(row) || row.firstSequence > last) return false
    if (row.firstSequence > first || before.indexOf(row.number) >= 0) return true
    // An object that had ended may exist again in a recording that was made of a trace; in others it has another number then.
    after ??= statesAt(to)
    return after.indexOf(row.number) >= 0
  })
}

/** Sequence number of the last event of a kind up to a moment, µs since the Unix epoch, or one between it and the next. Reads one table of contents. */
export const sequenceAt = (recording: QueriedRecording, kind: KeptKind, time: number): number => {
  const { cut, database, source } = recording
  const last = recording.reading(() =>
    prepare<{ readonly time: number }>(
      database,
      "SELECT max_time AS time FROM block_kind WHERE kind = ? ORDER BY last_sequence DESC LIMIT 1",
    ).get(kind.id),
  )
  // Nothing follows: most questions end now.
  if (last === undefined || last.time <= time) return cut
  for (const frame of source.framesOf(kind, 0, time + 1))
    for (let index = 0; index < frame.events.count; index++)
      if (frame.time(index) > time) return Math.min(cut, frame.sequence(index) - 1)
  return cut
}
