/**
 * The lanes of a window: the objects that existed at any moment of it, whether they changed or not, as a tree. From checkpoints, the rows of objects and two
 * tables of contents a kind; no object is read, and no change between the two ends.
 */
import { LaneTree } from "../../../timeline/index.ts"
import { APPLIED } from "../../../wire/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { prepare } from "../../tables/database.ts"
import { DamageFound } from "../damage-found.ts"
import type { ObjectSelection } from "../objects/object-selection.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "../shortcomings.ts"
import { directoryRows } from "./lane-directory.ts"
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

/** With pauses. @throws ArchiveError */
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
  cache.renew(recording)
  const known = cache.tree(key)
  if (known?.beginnings === beginnings && (known.cut ?? recording.cut) === recording.cut)
    return { tree: known.tree, lacks: shortcomingsOf(recording, part) }
  const damage = new DamageFound(recording)
  const parts: Uint32Array[] = []
  for (const kind of kinds) {
    yield* cache.directory.read(recording, kind)
    parts.push(rowsIn(recording, cache, kind, damage, question))
    yield undefined
  }
  const rows = new Uint32Array(parts.reduce((sum, part) => sum + part.length, 0))
  let count = 0
  for (const part of parts) {
    rows.set(part, count)
    count += part.length
  }
  const tree = new LaneTree(directoryRows(cache.directory, rows.sort()), find)
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
): Uint32Array => {
  const shown = shownNamespaces?.(kind.gvk)
  if (shown?.size === 0 || to < kind.removedThrough) return new Uint32Array(0)
  const { directory } = cache
  const isIn = directory.namespaces.map(
    (name) => (namespace === undefined || name === namespace) && shown?.has(name) !== false,
  )
  const before = existingAt(recording, kind, damage, Math.max(from - 1, kind.removedThrough))
  let after: Uint8Array | undefined
  const first = Math.max(sequenceAt(recording, kind, from - 1), recording.source.beginningOf(kind).throughSequence)
  const last = sequenceAt(recording, kind, to)
  const { numbers, namespaces, firstSequences } = directory.columns
  const found = new Uint32Array(directory.columns.count)
  let count = 0
  for (const row of directory.rowsOf(kind)) {
    const sequence = firstSequences[row] as number
    if (isIn[namespaces[row] as number] !== true || sequence > last) continue
    const number = numbers[row] as number
    if (sequence <= first && before[number] !== 1) {
      // An object that had ended may exist again in a recording that was made of a trace; in others it has another number then.
      after ??= existingAt(recording, kind, damage, to)
      if (after[number] !== 1) continue
    }
    found[count++] = row
  }
  return found.slice(0, count)
}

/** By number, 1 for each object that exists at a moment; what lost tables of contents hide is noted. Puts no states together, which takes four times as long. */
const existingAt = (recording: QueriedRecording, kind: KeptKind, damage: DamageFound, time: number): Uint8Array => {
  const exists = new Uint8Array(kind.nextObjectNumber)
  const limit = { throughSequence: recording.cut, beforeTime: time + 1 }
  const { steps, throughSequence } = recording.history.stepsBefore(kind, limit)
  for (const { count, numbers, dead } of steps)
    for (let index = 0; index < count; index++) exists[numbers[index] as number] = dead[index] === 1 ? 0 : 1
  reading: for (const frame of recording.source.framesAfter(kind, throughSequence)) {
    const { events } = frame
    const isWhole = frame.lastSequence <= recording.cut && frame.time(events.count - 1) <= time
    for (let index = 0; index < events.count; index++) {
      if (!isWhole && (frame.sequence(index) > recording.cut || frame.time(index) > time)) break reading
      exists[events.objectNumber(index)] = events.action(index) === APPLIED ? 1 : 0
    }
  }
  if (recording.source.lacksTableAfter(kind, 0)) damage.noteLostTables(kind, throughSequence, 0, time + 1)
  return exists
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
