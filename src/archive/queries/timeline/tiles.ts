/**
 * Tiles: how lanes look in a window, a byte for each column. When objects changed is in tables of contents; only the states at the ends of columns are read,
 * and all others too as long as they are few, so the cost is bounded by pixels and not by changes (docs/decisions/0100-tiles-cost-pixels.md). Columns of
 * which states were passed over are marked `unseen`.
 */
import {
  isAlwaysPlain,
  type Part,
  type PartHealth,
  TileDrawing,
  type TileRange,
  type TileWindow,
  type Tone,
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
import { type ColumnChanges, revisionsOf } from "./revisions.ts"
import type { Judged, TimelineCache } from "./timeline-cache.ts"

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
    const onlyLast = isAlwaysPlain(kind.gvk)
    const found = yield* revisionsOf(recording, cache, kind, { numbers, window: question, onlyLast })
    const lanes = Array.from(found, ([number, changes]): Lane => {
      const ranges = rangesOf(lacks, kind.gvk, namespaces.get(number) ?? "")
      return { id: laneId(kind, number), changes, ranges }
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

interface Lane {
  readonly id: string
  readonly changes: ColumnChanges
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
  lanes: ReadonlyArray<Lane>,
): Generator<DrawnTile | undefined, void, void> {
  const { withParts } = question
  if (isAlwaysPlain(kind.gvk)) return yield* plainTiles(question, lanes)
  const states = statesOf(lanes)
  const unknown = states.sequences.filter((sequence) => sequence > 0 && cache.judged(sequence) === undefined)
  if (unknown.length > mostBeforeDrawing) yield* plainTiles(question, lanes)
  const rows = lanes.map(() => new ObjectRows(question))
  for (const [read, at] of states.order.entries()) {
    const [sequence, column] = [states.sequences[at] as number, states.columns[at] as number]
    const judged = sequence < 0 ? gone : judge(cache, damage, kind, { sequence, withParts })
    rows[states.lanes[at] as number]?.change(column, judged)
    if (read % passedOver === passedOver - 1) yield undefined
  }
  for (const [at, lane] of lanes.entries()) yield* rows[at]?.tiles(lane) ?? []
}

/** As long as nothing is known of how objects are: whether they exist. */
function* plainTiles(question: TilesQuestion, lanes: ReadonlyArray<Lane>): Generator<DrawnTile, void, void> {
  const toneOf = (sequence: number): Tone => (sequence > 0 ? tones.plain : tones.absent)
  for (const { id, changes, ranges } of lanes) {
    const drawing = new TileDrawing(question, toneOf(changes.before))
    for (const [index, column] of changes.columns.entries())
      drawing.change(column, toneOf(changes.sequences[index] as number))
    yield { lane: id, columns: drawing.finish(ranges), changes: changes.count }
  }
}

/** Place of the last state before the window in place of a column. */
const BEFORE = -1

/** All states that are held of lanes, in columns. `order`: their places in the order in which they were recorded, as blocks are read. */
const statesOf = (lanes: ReadonlyArray<Lane>) => {
  const count = lanes.reduce((sum, { changes }) => sum + changes.sequences.length + 1, 0)
  const states = { sequences: new Float64Array(count), columns: new Int32Array(count), lanes: new Uint32Array(count) }
  let at = 0
  for (const [lane, { changes }] of lanes.entries()) {
    states.lanes.fill(lane, at, at + changes.sequences.length + 1)
    states.sequences[at] = changes.before
    states.columns[at++] = BEFORE
    states.sequences.set(changes.sequences, at)
    states.columns.set(changes.columns, at)
    at += changes.columns.length
  }
  const time = (index: number): number => Math.abs(states.sequences[index] as number)
  const order = Uint32Array.from({ length: count }, (_, index) => index)
  return { ...states, order: order.filter((index) => time(index) > 0).sort((one, other) => time(one) - time(other)) }
}

const gone: Judged = { tone: tones.absent, parts: [] }

interface PartRow {
  readonly part: Part
  readonly drawing: TileDrawing
  tone: Tone
  text: string
  changes: number
}

/** The rows of one object, drawn while its states are read: conditions and containers are those that it had in any of them. */
class ObjectRows {
  readonly #window: TileWindow
  readonly #parts = new Map<string, PartRow>()
  #own: TileDrawing | undefined

  constructor(window: TileWindow) {
    this.#window = window
  }

  /** `column`: {@link BEFORE}: it is the state before the window, which comes first. */
  change(column: number, { tone, parts = [] }: Judged): void {
    if (column === BEFORE) this.#own = new TileDrawing(this.#window, tone)
    else this.#drawing().change(column, tone)
    const missing = new Set(this.#parts.keys())
    for (const each of parts) {
      missing.delete(each.part.id)
      this.#changePart(column, each)
    }
    for (const id of missing) {
      const row = this.#parts.get(id)
      if (row === undefined || row.tone === tones.absent) continue
      row.drawing.change(column, tones.absent)
      row.tone = tones.absent
      row.changes++
    }
  }

  #changePart(column: number, { part, tone, text }: PartHealth): void {
    let row = this.#parts.get(part.id)
    if (row === undefined) {
      const before = column === BEFORE ? tone : tones.absent
      row = { part, drawing: new TileDrawing(this.#window, before), tone: before, text: "", changes: 0 }
      this.#parts.set(part.id, row)
    }
    if (column !== BEFORE && (row.tone !== tone || row.text !== text)) {
      row.drawing.change(column, tone)
      row.changes++
    }
    row.tone = tone
    row.text = text
  }

  *tiles({ id, changes, ranges }: Lane): Generator<DrawnTile, void, void> {
    yield { lane: id, columns: this.#drawing().finish(ranges, changes.unseen), changes: changes.count }
    for (const { part, drawing, changes: own } of this.#parts.values())
      yield { lane: id, part, columns: drawing.finish(ranges, changes.unseen), changes: own }
  }

  #drawing(): TileDrawing {
    this.#own ??= new TileDrawing(this.#window, tones.absent)
    return this.#own
  }
}
