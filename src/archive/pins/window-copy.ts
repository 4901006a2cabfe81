/**
 * Copies a window of a recording into a recording of its own, in steps of some ms between which the writer commits.
 *
 * Blocks are copied as they are, from the first with something that was received in the window to the last with something that happened in it. What is before
 * looks like what retention has removed: each kind has a beginning, a checkpoint with the states there, and the last events of what was alive are carried over.
 *
 * Only the writer's retention replaces blocks, and it makes the copy itself, so what is copied stays as it is meanwhile.
 */

import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { podLivesKind } from "../../trace/index.ts"
import { type PackedBlock, pack } from "../blocks/block.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import { type BlockRow, BlockRows, type BlockTable, blockFields, objectsOf, tableOf } from "../blocks/block-rows.ts"
import type { BlockSource } from "../blocks/block-source.ts"
import { MergedBlock, type NamesOf } from "../blocks/merged-block.ts"
import type { ObjectBytes } from "../blocks/object-bytes.ts"
import {
  encodeStates,
  includes,
  joined,
  liveSequences,
  NO_STATES,
  type Sequences,
} from "../checkpoints/object-states.ts"
import type { StateHistory } from "../checkpoints/state-history.ts"
import { unlessDamaged } from "../directory/archive-errors.ts"
import { Beginnings } from "../rows/beginnings.ts"
import { type KindEntry, readKinds } from "../rows/kind-table.ts"
import { WRITER_KEY } from "../rows/metadata.ts"
import { knownNamesOf } from "../rows/object-rows.ts"
import { type Connection, numberOf, prepare, rowsOf } from "../tables/database.ts"
import { createDatabase, DATABASE_FILE } from "../tables/schema.ts"
import { addChecksumFunction } from "../tables/sound-rows.ts"
import { rowWriter } from "../tables/tables.ts"
import { type CopiedReference, CopiedRows, pageRows } from "./copied-rows.ts"

/** What is copied of: lent by the writer. */
export interface CopiedRecording {
  readonly directory: string
  readonly database: Connection
  readonly source: BlockSource
  readonly history: StateHistory
}

/** µs since the Unix epoch; the end is exclusive. */
export interface CopiedWindow {
  readonly fromTime: number
  readonly untilTime: number
}

/** Events of a window, as blocks hold them. */
export interface WindowBlocks {
  /** All events up to this one were received before the window. */
  readonly afterSequence: number
  /** The last event of the last block with something that happened before the end. */
  readonly lastSequence: number
  /** On disk. */
  readonly bytes: number
  /** Whether the last block is not sealed: more may be added to it. */
  readonly isOpen: boolean
}

/** Events, and bytes of their objects, that are carried over in one block, at least. */
const carriedEvents = 4096
const carriedBytes = 1024 * 1024

/** µs around a window for which writes are kept: clocks of API servers differ, and a late change has an estimated time. */
const authorSlackMicros = 3_600_000_000

/**
 * Where the events of a window are. Yields after each kind, which may take 60 ms for all; commits seal the open block meanwhile, so what is not sealed at the
 * beginning is looked at after the last of these. @throws what SQLite throws
 */
export function* blocksOfWindow(
  database: Connection,
  { fromTime, untilTime }: CopiedWindow,
): Generator<void, WindowBlocks, void> {
  let [first, lastSequence] = [Number.POSITIVE_INFINITY, 0]
  const ends = prepare<{ readonly first: number | null; readonly last: number | null }>(
    database,
    `SELECT (SELECT min(last_sequence) FROM block_kind WHERE kind = ?1 AND max_received >= ?2 AND last_sequence BETWEEN ?4 AND ?5) AS first,
      (SELECT max(last_sequence) FROM block_kind WHERE kind = ?1 AND min_time < ?3 AND last_sequence BETWEEN ?4 AND ?5) AS last`,
  )
  const look = (kind: number, from: number, through: number): void => {
    const row = ends.get(kind, fromTime, untilTime, from, through)
    first = Math.min(first, row?.first ?? Number.POSITIVE_INFINITY)
    lastSequence = Math.max(lastSequence, row?.last ?? 0)
  }
  const kinds = (): ReadonlyArray<{ readonly id: number }> => rowsOf(database, "SELECT id FROM kind")
  const sealed =
    "SELECT coalesce((SELECT last_sequence FROM block WHERE sealed > 0 ORDER BY last_sequence DESC LIMIT 1), 0) AS value"
  const sealedThrough = numberOf(database, sealed)
  for (const { id } of kinds()) {
    look(id, 0, sealedThrough)
    yield
  }
  for (const { id } of kinds()) look(id, sealedThrough + 1, Number.MAX_SAFE_INTEGER)
  const before = "SELECT coalesce(max(last_sequence), 0) AS value FROM block WHERE last_sequence < ?"
  const afterSequence = numberOf(database, before, Math.min(first, Number.MAX_SAFE_INTEGER))
  const between = "FROM block WHERE last_sequence > ? AND last_sequence <= ?"
  const range = [afterSequence, lastSequence] as const
  return {
    ...{ afterSequence, lastSequence: Math.max(afterSequence, lastSequence) },
    bytes: numberOf(database, `SELECT sum(length(toc) + length(data)) AS value ${between}`, ...range),
    isOpen: numberOf(database, `SELECT count(*) AS value ${between} AND sealed = 0`, ...range) > 0,
  }
}

/** Bytes that a copy may take on disk, with what is not in blocks. */
export const copyWindowRoom = ({ bytes }: WindowBlocks): number => bytes * 1.25 + 4 * 1024 * 1024

/** `target`: a directory without a recording. Yields after each transaction. @throws what SQLite and the file system throw */
export function* copyWindow(
  recording: CopiedRecording,
  window: CopiedWindow,
  blocks: WindowBlocks,
  target: string,
): Generator<void, void, void> {
  const path = join(target, DATABASE_FILE)
  createDatabase(path, "OFF")
  const copy = new DatabaseSync(path)
  try {
    addChecksumFunction(copy)
    // A copy that is not finished is made anew; one that is finished is flushed as a whole.
    copy.exec("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    const from = pathToFileURL(join(recording.directory, DATABASE_FILE))
    from.search = "mode=ro"
    prepare(copy, "ATTACH ? AS recording").run(from.href)
    yield* new WindowCopy(recording, window, blocks, copy).run()
  } finally {
    copy.close()
  }
}

const returningOwners = { end: "RETURNING owners AS id" }

/** A kind in the copy: its states where it begins. */
interface CopiedKind {
  readonly kind: KindEntry
  /** Its changes in the copy are after this event. */
  readonly throughSequence: number
  readonly live: Sequences
}

class WindowCopy {
  readonly #recording: CopiedRecording
  readonly #window: CopiedWindow
  readonly #blocks: WindowBlocks
  readonly #copy: DatabaseSync
  readonly #rows: CopiedRows
  readonly #ownerSets = new Set<number>()

  constructor(recording: CopiedRecording, window: CopiedWindow, blocks: WindowBlocks, copy: DatabaseSync) {
    this.#recording = recording
    this.#window = window
    this.#blocks = blocks
    this.#copy = copy
    this.#rows = new CopiedRows(copy)
  }

  *run(): Generator<void, void, void> {
    this.#smallTables()
    yield
    yield* this.#listed()
    const kinds: Array<CopiedKind> = []
    for (const kind of readKinds(this.#copy)) {
      kinds.push(yield* this.#beginning(kind))
      yield
    }
    yield* this.#carried(joined(kinds.map(({ live }) => live)))
    yield* this.#changes()
    yield* this.#checkpoints()
    yield* this.#pods()
    yield* this.#authors()
    yield* this.#owners()
  }

  #smallTables(): void {
    const { fromTime, untilTime } = this.#window
    // A recorder that went on with the copy would lack what followed: without versions it lists anew.
    const ended = {
      complete_through: "''",
      complete_through_time: "min(complete_through_time, max(?1, recorded_since))",
    }
    this.#rows.transaction(() => {
      this.#rows.statement("metadata", `key <> '${WRITER_KEY}'`).run()
      prepare(this.#copy, "INSERT INTO metadata (key, value) VALUES (?, 'closed')").run(WRITER_KEY)
      this.#rows.statement("kind", "?1 > 0", { changed: ended }).run(untilTime)
      this.#rows.statement("retained", "1").run()
      // Blocks of the copy have nothing to be freed of.
      this.#copy.exec("UPDATE retained SET swept_sequence = through_sequence")
      const lives = prepare<{ readonly id: number; readonly through: number }>(
        this.#copy,
        `SELECT id, coalesce(through_sequence, 0) AS through FROM kind LEFT JOIN retained ON kind = id
        WHERE gvk = '${podLivesKind}' AND recorded_since < ? AND coalesce(removed_through, 0) < ? - 1`,
      ).get(fromTime, fromTime)
      if (lives !== undefined) this.#retain(lives.id, lives.through, fromTime - 1)
    })
  }

  /** What is said of kinds and owners as a whole. */
  *#listed(): Generator<void, void, void> {
    const { untilTime } = this.#window
    const complete = "min(complete_time, max(?1, recorded_since))"
    yield* this.#rows.pages("kind_namespace", ["kind", "namespace"], {
      ...{ changed: { complete_through: "''", complete_time: complete }, values: [untilTime] },
    })
    yield* this.#rows.pages("gap", ["sequence"], { condition: "from_time < ?1", values: [untilTime] })
    yield* this.#rows.pages("late_range", ["kind", "namespace", "not_before", "cause"], {
      ...{ condition: "not_before < ?1", values: [untilTime] },
    })
    yield* this.#rows.pages("owner", ["uid", "gvk"], { lowest: "" })
  }

  #retain(kind: number, throughSequence: number, removedThrough: number): void {
    rowWriter(this.#copy, "retained", { or: "REPLACE" })({
      ...{ kind, throughSequence, removedThrough, sweptSequence: throughSequence },
    })
  }

  /** The states of a kind where it begins, and the rows of its objects. */
  *#beginning(kind: KindEntry): Generator<void, CopiedKind, void> {
    const { database, history, source } = this.#recording
    const { afterSequence, lastSequence } = this.#blocks
    const [removed] = rowsOf<{ readonly through: number }>(
      database,
      `SELECT max_received AS through FROM block_kind WHERE kind = ? AND last_sequence <= ? ORDER BY last_sequence DESC LIMIT 1`,
      ...[kind.id, afterSequence],
    )
    const before = new Beginnings(database).of(kind.id)
    const throughSequence =
      removed === undefined ? before.throughSequence : Math.max(before.throughSequence, afterSequence)
    const removedThrough = Math.max(before.removedThrough, removed?.through ?? 0)
    // The last events of one that was removed beyond the end are not in the copy: it has nothing of that kind.
    const states = throughSequence > lastSequence ? NO_STATES : history.aliveAt(kind, { throughSequence })
    yield
    // States that are not known are missing in the copy, and its readers say so.
    const areKnown = source.lostBeginningOf(kind) === undefined && !source.lacksTableAfter(kind, 0)
    if (throughSequence > 0)
      this.#rows.transaction(() => {
        this.#retain(kind.id, throughSequence, removedThrough)
        const { bytes, size, checksum } = pack(encodeStates(states))
        if (!areKnown) return
        rowWriter(this.#copy, "checkpoint", { blobs: ["states"] })({
          ...{ kind: kind.id, throughSequence, lastTime: removedThrough, lastReceived: removedThrough, isFull: 1 },
          ...{ objects: states.count, afterSequence: 0, states: bytes, statesSize: size, statesChecksum: checksum },
        })
      })
    yield
    const numbers = states.numbers.subarray(0, states.count)
    const one = this.#rows.statement("object", "kind = ?1 AND number = ?2", returningOwners)
    for (let start = 0; start < numbers.length; start += pageRows) {
      this.#rows.transaction(() => {
        for (const number of numbers.subarray(start, start + pageRows)) this.#noteOwners(one.all(kind.id, number))
      })
      yield
    }
    // Numbers are given in the order of first events.
    const later = this.#rows.statement(
      "object",
      "kind = ?1 AND number > ?2 AND number <= ?2 + ?3 AND first_sequence <= ?4",
      returningOwners,
    )
    const highest = numberOf(database, "SELECT max(number) AS value FROM object WHERE kind = ?", kind.id)
    for (let last = numbers.at(-1) ?? 0; last < highest; last += pageRows) {
      this.#rows.transaction(() => this.#noteOwners(later.all(kind.id, last, pageRows, lastSequence)))
      yield
    }
    const live = liveSequences(states).filter((sequence) => sequence <= afterSequence)
    return { kind, throughSequence, live }
  }

  #noteOwners(rows: ReadonlyArray<CopiedReference>): void {
    for (const { id } of rows) this.#ownerSets.add(id)
  }

  /** The last events of what was alive, out of the blocks before. One that is damaged is copied as it is, so that readers name it. */
  *#carried(live: Sequences): Generator<void, void, void> {
    const { afterSequence } = this.#blocks
    const blocks = new BlockRows(this.#copy)
    const namesOf = knownNamesOf(this.#copy)
    const next = prepare<{ readonly key: number; readonly first: number }>(
      this.#recording.database,
      `SELECT last_sequence AS key, first_sequence AS first FROM block WHERE last_sequence >= ? ORDER BY last_sequence LIMIT 1`,
    )
    const read = prepare<BlockRow>(this.#recording.database, `SELECT ${blockFields} FROM block WHERE last_sequence = ?`)
    const asItIs = this.#rows.statement("block", "last_sequence = ?", { blobs: ["toc", "data"] })
    let batch = new CarriedBatch(namesOf)
    for (let at = 0; at < live.length; ) {
      const place = next.get(live[at] ?? 0)
      if (place === undefined || place.key > afterSequence) break
      const row = read.get(place.key)
      const content = unlessDamaged(() => {
        if (row === undefined) return undefined
        const table = tableOf(row, () => row.data)
        return { table, objects: objectsOf(row, table) }
      })
      if (content === undefined || batch.isFull) {
        yield* this.#insert(batch, blocks)
        batch = new CarriedBatch(namesOf)
      }
      if (content === undefined) this.#rows.transaction(() => asItIs.run(place.key))
      else batch.add(place, content, live)
      while ((live[at] ?? Number.POSITIVE_INFINITY) <= place.key) at++
      yield
    }
    yield* this.#insert(batch, blocks)
  }

  *#insert(batch: CarriedBatch, blocks: BlockRows): Generator<void, void, void> {
    const packed = yield* batch.packing()
    if (packed !== undefined) this.#rows.transaction(() => blocks.insertCarried(packed, packed.summary.events))
    yield
  }

  /** The blocks of the window, byte for byte. */
  *#changes(): Generator<void, void, void> {
    const { afterSequence, lastSequence } = this.#blocks
    const next = prepare<{ readonly key: number }>(
      this.#recording.database,
      "SELECT last_sequence AS key FROM block WHERE last_sequence > ? AND last_sequence <= ? ORDER BY last_sequence LIMIT 1",
    )
    const block = this.#rows.statement("block", "last_sequence = ?", { blobs: ["toc", "data"] })
    // By kind, because that is the key.
    const kinds = this.#rows.statement(
      "block_kind",
      "kind IN (SELECT id FROM main.kind) AND last_sequence > ? AND last_sequence <= ?",
    )
    let position = afterSequence
    for (let row = next.get(position, lastSequence); row !== undefined; row = next.get(position, lastSequence)) {
      const { key } = row
      this.#rows.transaction(() => {
        block.run(key)
        kinds.run(position, key)
      })
      position = key
      yield
    }
  }

  /** Those that continue from a full one: the first states are in a checkpoint of the copy. One may have some MB. */
  *#checkpoints(): Generator<void, void, void> {
    const { lastSequence } = this.#blocks
    const beginning = "coalesce((SELECT through_sequence FROM main.retained WHERE retained.kind = checkpoint.kind), 0)"
    yield* this.#rows.pages("checkpoint", ["kind", "through_sequence"], {
      condition: `kind IN (SELECT id FROM main.kind) AND is_full < 2 AND through_sequence <= ?1 AND through_sequence >= (
        SELECT min(through_sequence) FROM recording.checkpoint AS whole
        WHERE whole.kind = checkpoint.kind AND is_full = 1 AND through_sequence > ${beginning})`,
      ...{ values: [lastSequence], rows: 1, blobs: ["states"] },
    })
  }

  /** All but the pods that were gone before the window, with their lives up to its end. */
  *#pods(): Generator<void, void, void> {
    const { fromTime, untilTime } = this.#window
    const { afterSequence, lastSequence } = this.#blocks
    const isWithin = "(sequence <= ?3 OR time < ?4)"
    const pods = this.#rows.statement(
      "pod",
      `number > ?1 AND number <= ?2 AND EXISTS (SELECT 1 FROM recording.pod_life WHERE pod = number AND ${isWithin})
      AND NOT (is_gone = 1 AND NOT EXISTS
        (SELECT 1 FROM recording.pod_life WHERE pod = number AND (sequence > ?5 OR received >= ?6)))`,
    )
    const highest = numberOf(this.#recording.database, "SELECT max(number) AS value FROM pod")
    for (let last = 0; last < highest; last += pageRows) {
      const page = [last, last + pageRows, lastSequence, untilTime, afterSequence, fromTime] as const
      this.#rows.transaction(() => pods.run(...page))
      yield
    }
    yield* this.#rows.pages("pod_life", ["sequence"], {
      condition: "pod IN (SELECT number FROM main.pod) AND (sequence <= ?1 OR time < ?2)",
      values: [lastSequence, untilTime],
    })
  }

  *#authors(): Generator<void, void, void> {
    const authors = new Set<number>()
    yield* this.#rows.pages("audited_write", ["kind", "version", "object", "effect", "received", "author"], {
      condition: "kind IN (SELECT id FROM main.kind) AND received >= ?1 AND received < ?2",
      values: [this.#window.fromTime - authorSlackMicros, this.#window.untilTime + authorSlackMicros],
      end: "RETURNING author AS id",
      note: (rows) => {
        for (const { id } of rows) authors.add(id)
      },
    })
    yield* this.#rows.ofIds("author", authors)
  }

  /** The owners that copied objects have and had. */
  *#owners(): Generator<void, void, void> {
    yield* this.#rows.pages("former_owner_set", ["kind", "number", "until_time"], {
      ...{ ...returningOwners, note: (rows) => this.#noteOwners(rows) },
    })
    yield* this.#rows.ofIds("owner_set", this.#ownerSets)
  }
}

/** Events of some blocks that are carried over in one. */
class CarriedBatch {
  readonly #merged: MergedBlock
  readonly #held: Array<ObjectBytes> = []
  #first = 0
  #last = 0
  #bytes = 0

  constructor(namesOf: NamesOf) {
    this.#merged = new MergedBlock(namesOf)
  }

  get isFull(): boolean {
    return this.#merged.events >= carriedEvents || this.#bytes >= carriedBytes
  }

  /** Those of a block that live on. Its objects are released when the batch is packed. */
  add(
    { key, first }: { readonly key: number; readonly first: number },
    { table, objects }: { readonly table: BlockTable; readonly objects: ObjectBytes },
    live: Sequences,
  ): void {
    if (this.#held.length === 0) this.#first = first
    this.#last = key
    this.#held.push(objects)
    const isWanted = (sequence: number): boolean => includes(live, sequence)
    for (const frame of table.frames) this.#bytes += this.#merged.add(frame, objects, isWanted) * averageBytes(frame)
  }

  /** Yields after each piece. `undefined`: there are no events. */
  *packing(): Generator<void, PackedBlock | undefined, void> {
    const packed = this.#merged.events === 0 ? undefined : yield* this.#merged.packing(this.#first, this.#last)
    for (const objects of this.#held) objects.release()
    return packed
  }
}

const averageBytes = ({ events }: BlockFrame): number => {
  let bytes = 0
  for (let index = 0; index < events.count; index++) bytes += events.length(index)
  return bytes / Math.max(1, events.count)
}
