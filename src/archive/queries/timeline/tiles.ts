/**
 * Tiles: how lanes look in a window, a byte for each column. When objects changed is in tables of contents; only the states at the ends of columns are read,
 * and all others too as long as they are few, so the cost is bounded by pixels and not by changes (docs/decisions/0100-tiles-cost-pixels.md).
 */
import {
  columnOf,
  isAlwaysPlain,
  type Part,
  type TileRange,
  type TileWindow,
  type Tone,
  type ToneChange,
  tileOf,
  tones,
} from "../../../timeline/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { passedOver } from "../changes.ts"
import { DamageFound } from "../damage-found.ts"
import type { ObjectSelection } from "../objects/object-selection.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { type Shortcomings, shortcomingsOf } from "../shortcomings.ts"
import { judge } from "./judged-states.ts"
import { rangesOf } from "./known-ranges.ts"
import { laneId, laneNumbers } from "./lane-directory.ts"
import { type Revisions, revisionsOf } from "./revisions.ts"
import type { TimelineCache } from "./timeline-cache.ts"

interface TilesQuestion extends TileWindow, Pick<ObjectSelection, "namespace" | "shownNamespaces"> {
  /** Ids of lanes. Those that are none, or not those of objects, have no tiles. */
  readonly lanes: ReadonlyArray<string>
  /** Also the rows below each object. */
  readonly withParts: boolean
}

/** One row as it is drawn. */
export interface DrawnTile {
  readonly lane: string
  /** Of a row below the object; absent: the object itself. */
  readonly part?: Part
  readonly columns: Uint8Array
  /** Changes in the window. */
  readonly changes: number
}

/** States that one question reads, beyond which of each column only the last is read: some 40 ms for 1,000. */
const mostRead = 20_000

/** States that are read before anything is drawn; if they are more, lanes are drawn first without them, and again with them. */
const mostBeforeDrawing = 600

/** The tiles of objects as they become known, in the order of kinds; a lane may come twice, the second time for good. With pauses. @throws ArchiveError */
export function* tileSteps(
  recording: QueriedRecording,
  cache: TimelineCache,
  question: TilesQuestion,
): Generator<DrawnTile | undefined, Shortcomings, void> {
  const { from, to, namespace } = question
  const damage = new DamageFound(recording)
  const asked = Map.groupBy(
    question.lanes.flatMap((lane) => laneNumbers(lane) ?? []),
    ({ kind }) => kind,
  )
  const kinds = recording.kinds.filter(({ id }) => asked.has(id))
  const lacks = shortcomingsOf(recording, { kinds: kinds.map(({ gvk }) => gvk), namespace, from, to })
  for (const kind of kinds) {
    const namespaces = shownObjects(recording, kind, new Set(asked.get(kind.id)?.map(({ number }) => number)), question)
    const numbers = new Set(namespaces.keys())
    if (numbers.size === 0) continue
    const revisions = yield* revisionsOf(recording, cache, kind, { numbers, from, to })
    const lanes = Array.from(revisions, ([number, each]): LaneRevisions => {
      const ranges = rangesOf(lacks, kind.gvk, namespaces.get(number) ?? "")
      return { lane: laneId(kind, number), revisions: each, ranges }
    })
    yield* drawn({ kind, cache, damage, question }, lanes)
    damage.noteLostTables(kind, 0, from, to + 1)
  }
  return { ...lacks, gaps: [...lacks.gaps, ...damage.gaps] }
}

/** The numbers of objects that exist and may be shown, with their namespaces. */
const shownObjects = (
  recording: QueriedRecording,
  kind: KeptKind,
  numbers: ReadonlySet<number>,
  { namespace, shownNamespaces }: TilesQuestion,
): ReadonlyMap<number, string> => {
  const shown = shownNamespaces?.(kind.gvk)
  const found = new Map<number, string>()
  for (const number of numbers) {
    // A number that retention has removed, or that never was, is no object.
    if (number >= kind.nextObjectNumber || !recording.names.has(kind.id, number)) continue
    const object = recording.names.nameOf(kind.id, number)
    if ((namespace === undefined || object.namespace === namespace) && shown?.has(object.namespace) !== false)
      found.set(number, object.namespace)
  }
  return found
}

interface LaneRevisions {
  readonly lane: string
  readonly revisions: Revisions
  readonly ranges: ReadonlyArray<TileRange>
}

interface Drawing {
  readonly kind: KeptKind
  readonly cache: TimelineCache
  readonly damage: DamageFound
  readonly question: TilesQuestion
}

function* drawn(
  { kind, cache, damage, question }: Drawing,
  lanes: ReadonlyArray<LaneRevisions>,
): Generator<DrawnTile | undefined, void, void> {
  const { withParts } = question
  const isPlain = isAlwaysPlain(kind.gvk)
  const count = lanes.reduce((sum, { revisions }) => sum + revisions.times.length, 0)
  const wanted = isPlain
    ? []
    : lanes.flatMap(({ revisions }) => [...statesToRead(question, revisions, count > mostRead)])
  const unknown = wanted.filter((sequence) => cache.judged(sequence) === undefined)
  const judged = new Map<number, ReturnType<typeof judge>>()
  const drawing = { question, judged, withParts }
  if (unknown.length > mostBeforeDrawing)
    for (const lane of lanes) yield wholeTile({ ...drawing, withParts: false }, lane)
  for (const [index, sequence] of wanted.sort((one, other) => one - other).entries()) {
    judged.set(sequence, judge(cache, damage, kind, { sequence, withParts }))
    if (index % passedOver === passedOver - 1) yield undefined
  }
  for (const lane of lanes) {
    yield wholeTile(drawing, lane)
    if (withParts) yield* partTiles(drawing, lane)
  }
}

/** Sequence numbers of the states that are looked at. */
function* statesToRead(
  window: TileWindow,
  { before, times, sequences }: Revisions,
  onlyLast: boolean,
): Generator<number, void, void> {
  if (before > 0) yield before
  for (const [index, sequence] of sequences.entries()) {
    if (sequence < 0) continue
    const next = times[index + 1]
    const isLast = next === undefined || columnOf(window, next) > columnOf(window, times[index] as number)
    if (isLast || !onlyLast) yield sequence
  }
}

interface JudgedWindow {
  readonly question: TilesQuestion
  /** By sequence number. */
  readonly judged: ReadonlyMap<number, ReturnType<typeof judge>>
  readonly withParts: boolean
}

const wholeTile = ({ question, judged }: JudgedWindow, { lane, revisions, ranges }: LaneRevisions): DrawnTile => {
  const { before, times, sequences } = revisions
  const toneAt = (sequence: number): Tone => judged.get(sequence)?.tone ?? tones.plain
  const changes = times.map((time, index): ToneChange => {
    const sequence = sequences[index] as number
    return { time, tone: sequence < 0 ? tones.absent : toneAt(sequence) }
  })
  const first = before > 0 ? toneAt(before) : tones.absent
  return { lane, columns: tileOf(question, first, changes, ranges), changes: times.length }
}

interface PartRevisions {
  readonly part: Part
  before: Tone
  tone: Tone
  text: string
  readonly changes: ToneChange[]
}

/** Conditions and containers that the object had at any state that was read. */
function* partTiles(
  { question, judged }: JudgedWindow,
  { lane, revisions, ranges }: LaneRevisions,
): Generator<DrawnTile, void, void> {
  const parts = new Map<string, PartRevisions>()
  const enter = (sequence: number, time: number | undefined): void => {
    const found = sequence > 0 ? judged.get(sequence)?.parts : []
    if (found === undefined) return
    const gone = new Set(parts.keys())
    for (const { part, tone, text } of found) {
      gone.delete(part.id)
      const known = parts.get(part.id) ?? { part, before: tones.absent, tone: tones.absent, text: "", changes: [] }
      parts.set(part.id, known)
      if (time === undefined) known.before = tone
      else if (known.tone !== tone || known.text !== text) known.changes.push({ time, tone })
      known.tone = tone
      known.text = text
    }
    for (const id of gone) {
      const known = parts.get(id)
      if (known === undefined || known.tone === tones.absent || time === undefined) continue
      known.changes.push({ time, tone: tones.absent })
      known.tone = tones.absent
    }
  }
  if (revisions.before > 0) enter(revisions.before, undefined)
  for (const [index, sequence] of revisions.sequences.entries()) enter(sequence, revisions.times[index])
  for (const { part, before, changes } of parts.values())
    yield { lane, part, columns: tileOf(question, before, changes, ranges), changes: changes.length }
}
