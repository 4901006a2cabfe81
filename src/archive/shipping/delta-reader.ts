/**
 * Reads deltas of a recording, also while it is being written. Each is one read transaction of some hundred ms at most, in which the writer goes on.
 *
 * Rows that are only ever added are found by their position. Tables whose rows change are small and have no order of change: the checksums of all their
 * rows are looked at (sent-rows.ts). What was sent is kept in memory; a new reader sends those rows again, which changes nothing.
 *
 * Memory: what `take` keeps, a block with its table of contents, and 2 MiB.
 */
import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import { crc32 } from "node:zlib"
import { pack } from "../blocks/block.ts"
import { tableOf } from "../blocks/block-rows.ts"
import { BlockSource } from "../blocks/block-source.ts"
import { encodeStates } from "../checkpoints/object-states.ts"
import { StateHistory } from "../checkpoints/state-history.ts"
import { CorruptArchiveError, reading, unlessDamaged } from "../directory/archive-errors.ts"
import { Beginnings } from "../rows/beginnings.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { readMetadata } from "../rows/metadata.ts"
import { type FirstUnsent, lastBatch, UNSENT_WRITES_KEY, unsentAfter } from "../rows/unsent-writes.ts"
import { numberOf, prepareTuples, rowsOf, type Statement } from "../tables/database.ts"
import { FORMAT_VERSION, lastSequenceOf, openForReading } from "../tables/schema.ts"
import { columnsOf } from "../tables/tables.ts"
import {
  blobsOf,
  type Delta,
  type DeltaKind,
  type DeltaRow,
  type Position,
  type ShippedTable,
  type ShippedValue,
  shippedKeys,
} from "./delta.ts"
import { isSound, rowIn, type Tuple, tuplesOf } from "./every-row.ts"
import { SentRows } from "./sent-rows.ts"

/** Takes a row, and returns how many bytes it has taken of this delta. */
type TakeRow = (row: DeltaRow) => number

/**
 * A damaged row of these costs no more than itself, and is not sent. Of a block, its rows in `block_kind` are, by which readers of the copy name it as a gap; a
 * checkpoint only repeats what blocks have. Any other damaged row ends the delta.
 */
const confinedTables: ReadonlyArray<ShippedTable> = ["block", "checkpoint", "audited_write"]

/** Tables whose rows change, with how many of their first columns are the key. */
const changingTables = [
  ["late_range", 4],
  ["former_owner_set", 3],
  ["owner", 2],
  ["author", 1],
] as const

/** One of them, and what was sent of it. */
interface Changing {
  readonly table: ShippedTable
  readonly key: ReadonlyArray<string>
  readonly sent: SentRows<SQLInputValue>
}

/** The place of each column in a row of the table `block`. */
const blockColumns = new Map(columnsOf("block").map((column, index) => [column, index]))

const numberIn = (row: Tuple, column: string): number => Number(row[blockColumns.get(column) ?? -1])

/** Reads one recording. What was read counts as sent: whoever gives a delta up goes on with a new reader. */
export class DeltaReader {
  readonly #directory: string
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, Statement<Tuple>>()
  readonly #changing = changingTables.map(([table, keys]) => ({
    table,
    key: columnsOf(table).slice(0, keys),
    sent: new SentRows<SQLInputValue>(),
  }))
  /** What is left of audited writes for which a delta before had no room, up to a batch. */
  #writes: { readonly batch: number; readonly kinds: Map<number, FirstUnsent> } | undefined

  /** @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError */
  constructor(directory: string) {
    this.#directory = directory
    this.#database = openForReading(directory)
  }

  /**
   * The next delta after a position: whole if it has fewer bytes than the limit, at which it is cut otherwise, after a block or a row.
   *
   * @throws CorruptArchiveError if a row is damaged without which others are wrong, ArchiveIoError
   */
  read(position: Position, take: TakeRow, maximumBytes: number): Delta {
    return reading(this.#directory, () => {
      this.#database.exec("BEGIN")
      try {
        return this.#read(new Sending(position, take, maximumBytes))
      } finally {
        this.#database.exec("COMMIT")
      }
    })
  }

  close(): void {
    this.#database.close()
  }

  #read(sending: Sending): Delta {
    const { before } = sending
    const kinds = rowsOf<KindKey>(this.#database, "SELECT id, gvk FROM kind ORDER BY id")
    const names = new Map(kinds.map(({ id, gvk }) => [id, gvk]))
    if (before.sequence === 0) this.#all(sending, "retained")
    const hasBlocks = this.#blocks(sending, names)
    const through = hasBlocks ? lastSequenceOf(this.#database) : sending.position.sequence
    sending.moveOn({ sequence: through })
    this.#checkpoints(sending, kinds, through)
    for (const row of this.#rows("gap", "sequence > ? AND sequence <= ? ORDER BY sequence", before.sequence, through)) {
      sending.row("gap", row)
      sending.count(names.get(Number(row[1])) ?? "", { gaps: 1 })
    }
    const isWhole = hasBlocks && this.#others(sending, kinds, through)
    if (isWhole) {
      if (numberOf(this.#database, "SELECT count(*) AS value FROM block WHERE sealed = 0") === 0)
        sending.moveOn({ sealedThrough: through })
      const { rows } = sending
      for (const table of ["kind", "kind_namespace"] as const) this.#all(sending, table)
      const keys = shippedKeys.map(() => "?").join()
      for (const row of this.#rows("metadata", `key IN (${keys})`, ...shippedKeys)) sending.row("metadata", row)
      sending.rows = rows
    }
    const { position, rows } = sending
    const facts = { after: before.sequence, through, isWhole, position, rows, kinds: sending.kinds }
    return { recordingFormat: FORMAT_VERSION, ...facts }
  }

  #all(sending: Sending, table: ShippedTable): void {
    for (const row of this.#rows(table, "true")) sending.row(table, row)
  }

  /** Returns whether these were all. */
  #blocks(sending: Sending, names: ReadonlyMap<number, string>): boolean {
    const { sequence, sealedThrough } = sending.before
    const wanted = "last_sequence > ?1 AND (sealed > 0 OR last_sequence > ?2) ORDER BY last_sequence"
    const listed = rowsOf<{ readonly key: number }>(
      this.#database,
      "SELECT DISTINCT last_sequence AS key FROM block_kind WHERE kind IN (SELECT id FROM kind) AND last_sequence > ? ORDER BY 1",
      sequence,
    )
    let next = 0
    const nameLostBefore = (end: number): void => {
      for (; (listed[next]?.key ?? end) < end; next++) this.#nameLost(sending, listed[next]?.key ?? 0, names)
    }
    for (const row of this.#rows("block", wanted, sealedThrough, sequence)) {
      const last = numberIn(row, "last_sequence")
      nameLostBefore(last)
      if (listed[next]?.key === last) next++
      const isSealed = numberIn(row, "sealed") > 0
      if (numberIn(row, "first_sequence") <= sealedThrough && numberIn(row, "carried") === 0) {
        const reason = `the block up to event ${last} spans event ${sealedThrough}, up to which blocks were sent`
        throw new CorruptArchiveError({ directory: this.#directory, reason })
      }
      sending.row("block", row)
      const ranges = [...this.#kindsOf(last)]
      for (const range of ranges) sending.row("block_kind", range)
      this.#countEvents(sending, row, ranges, names)
      sending.moveOn({ sequence: Math.max(sequence, last), ...(isSealed && { sealedThrough: last }) })
      if (sending.isFull) return false
    }
    nameLostBefore(Number.POSITIVE_INFINITY)
    return true
  }

  /** A block that is damaged or missing, of which the copy has no part either. */
  #nameLost(sending: Sending, last: number, names: ReadonlyMap<number, string>): void {
    for (const range of this.#kindsOf(last)) {
      sending.row("block_kind", range)
      sending.count(names.get(Number(range[0])) ?? "", { gaps: 1 })
    }
    sending.moveOn({ sequence: last })
  }

  #kindsOf(last: number): Iterable<Tuple> {
    return this.#rows("block_kind", "kind IN (SELECT id FROM kind) AND last_sequence = ?", last)
  }

  /** Of a block that takes the place of parts, the events that were not sent with them. */
  #countEvents(sending: Sending, row: Tuple, ranges: ReadonlyArray<Tuple>, names: ReadonlyMap<number, string>): void {
    const [toc] = rowIn("block", row).blobs
    const position = { firstSequence: numberIn(row, "first_sequence"), lastSequence: numberIn(row, "last_sequence") }
    const sizes = { tocSize: numberIn(row, "toc_size"), tocChecksum: numberIn(row, "toc_checksum") }
    const isMerged = numberIn(row, "sealed") > 1
    const table =
      isMerged || toc === undefined
        ? undefined
        : unlessDamaged(() => tableOf({ ...position, ...sizes, toc }, () => undefined))
    if (table === undefined) {
      for (const [kind, , fromTime, toTime, , events] of ranges)
        sending.count(names.get(Number(kind)) ?? "", {
          ...{ events: Number(events), fromTime: Number(fromTime), toTime: Number(toTime) },
        })
      return
    }
    for (const frame of table.frames) {
      const { gvk, count } = frame.events
      if (frame.firstSequence <= sending.before.sequence || count === 0) continue
      sending.count(gvk, {
        ...{ events: count, fromTime: frame.time(0), toTime: frame.time(count - 1) },
        firstVersion: frame.events.resourceVersionText(0),
        lastVersion: frame.events.resourceVersionText(count - 1),
      })
    }
  }

  #checkpoints(sending: Sending, kinds: ReadonlyArray<KindKey>, through: number): void {
    const { sequence, sealedThrough } = sending.before
    const beginnings = new Beginnings(this.#database)
    for (const kind of kinds) {
      const wanted = "kind = ? AND through_sequence > ? AND through_sequence <= ?"
      for (const row of this.#rows("checkpoint", wanted, kind.id, sealedThrough, through))
        sending.row("checkpoint", row)
      const { throughSequence, removedThrough } = beginnings.of(kind.id)
      if (sequence > 0 && throughSequence > sequence)
        sending.row("checkpoint", this.#statesAt(kind, throughSequence, removedThrough))
    }
  }

  /**
   * Retention that could not wait until what it removed was sent has left the states at the new beginning. A copy keeps its own beginning, so it
   * gets them as a checkpoint of all that was alive.
   */
  #statesAt(kind: KindKey, throughSequence: number, time: number): Tuple {
    const source = new BlockSource(this.#database, this.#directory, { cachedBytes: 0, passesOverDamage: true })
    const states = new StateHistory(this.#database, source, this.#directory, true).aliveAt(kind, { throughSequence })
    const { bytes, size, checksum } = pack(encodeStates(states))
    return [kind.id, throughSequence, time, time, 1, states.count, 0, size, checksum, Buffer.from(bytes), 0, 1]
  }

  /** Everything else that has a position. Returns whether that was all. */
  #others(sending: Sending, kinds: ReadonlyArray<KindKey>, through: number): boolean {
    const { ownerSets, pods, lives } = sending.before
    const objects: Record<string, number> = { ...sending.before.objects }
    for (const { id } of kinds) {
      const wanted = "kind = ? AND number > ? ORDER BY number"
      const isDone = this.#eachOf(sending, "object", wanted, [id, objects[id] ?? 0], (row) => {
        objects[id] = Number(row[1])
      })
      sending.moveOn({ objects })
      if (!isDone) return false
    }
    return (
      this.#eachOf(sending, "owner_set", "id > ? ORDER BY id", [ownerSets], ([id]) =>
        sending.moveOn({ ownerSets: Number(id) }),
      ) &&
      this.#eachOf(sending, "pod", "number > ? ORDER BY number", [pods], ([number]) =>
        sending.moveOn({ pods: Number(number) }),
      ) &&
      this.#eachOf(
        ...([sending, "pod_life", "sequence > ? AND sequence <= ? ORDER BY sequence", [lives, through]] as const),
        ([sequence]) => sending.moveOn({ lives: Number(sequence) }),
      ) &&
      this.#changing.every((changing) => this.#changed(sending, changing)) &&
      this.#auditedWrites(sending, kinds)
    )
  }

  /** Sends rows until there is no more room. Returns whether these were all. */
  #eachOf(
    sending: Sending,
    table: ShippedTable,
    wanted: string,
    values: ReadonlyArray<SQLInputValue>,
    sent: (row: Tuple) => void,
  ): boolean {
    for (const row of this.#rows(table, wanted, ...values)) {
      sending.row(table, row)
      sent(row)
      if (sending.isFull) return false
    }
    return true
  }

  /** Returns whether a copy has all rows as they are now. */
  #changed(sending: Sending, changing: Changing): boolean {
    const { table, key, sent } = changing
    // What a delta before had no room for. Rows may have changed since they were compared.
    if (sent.after !== undefined && !this.#sendLeft(sending, changing)) return false
    const rows = prepareTuples<ShippedValue[]>(this.#database, `SELECT checksum, ${key.join(", ")} FROM ${table}`)
    return !sent.compare(rows.iterate()) || this.#sendLeft(sending, changing)
  }

  /** Returns whether there was room for all. */
  #sendLeft(sending: Sending, { table, key, sent }: Changing): boolean {
    const after = sent.after ?? []
    const columns = key.join(", ")
    const wanted = after.length === 0 ? "true" : `(${columns}) > (${after.map(() => "?").join()})`
    for (const row of this.#rows(table, `${wanted} ORDER BY ${columns}`, ...after)) {
      const values = row.slice(0, key.length)
      if (!sent.isLeft(values)) continue
      sending.row(table, row)
      // An object whose owners were replaced.
      if (table === "former_owner_set")
        for (const object of this.#rows("object", "kind = ? AND number = ?", Number(row[0]), Number(row[1])))
          sending.row("object", object)
      sent.sentThrough(values)
      if (sending.isFull) return false
    }
    sent.end()
    return true
  }

  #auditedWrites(sending: Sending, kinds: ReadonlyArray<KindKey>): boolean {
    const text = readMetadata(this.#database).get(UNSENT_WRITES_KEY)
    for (;;) {
      const { writes } = sending.position
      if (this.#writes === undefined && writes === lastBatch(text)) return true
      const all = kinds.map(({ id }) => [id, { version: 0, received: 0 }] as const)
      const unsent = Object.entries(unsentAfter(text, writes)).map(([id, first]) => [Number(id), first] as const)
      this.#writes ??= { batch: lastBatch(text), kinds: new Map(writes < 0 ? all : unsent) }
      const left = this.#writes.kinds
      for (const [kind, first] of left) {
        const ordered = "kind = ? AND version >= ? AND version > 0 AND is_certain = 1 ORDER BY version"
        const timed = "kind = ? AND (version <= 0 OR is_certain = 0) AND received >= ? ORDER BY received"
        const isDone =
          this.#eachOf(sending, "audited_write", ordered, [kind, first.version], ([, version]) =>
            left.set(kind, { ...first, version: Number(version) }),
          ) &&
          this.#eachOf(sending, "audited_write", timed, [kind, first.received], (row) =>
            left.set(kind, { version: Number.MAX_SAFE_INTEGER, received: Number(row[5]) }),
          )
        if (!isDone) return false
        left.delete(kind)
      }
      sending.moveOn({ writes: this.#writes.batch })
      this.#writes = undefined
    }
  }

  /** Sound rows, with sound BLOBs. @throws CorruptArchiveError */
  *#rows(table: ShippedTable, wanted: string, ...values: ReadonlyArray<SQLInputValue>): Generator<Tuple, void, void> {
    const sql = `${tuplesOf(table)} WHERE ${wanted}`
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = prepareTuples<Tuple>(this.#database, sql)
      this.#statements.set(sql, statement)
    }
    for (const row of statement.iterate(...values)) {
      if (isSound(row) && hasSoundBlobs(table, row)) yield row
      else if (!confinedTables.includes(table))
        throw new CorruptArchiveError({ directory: this.#directory, reason: `table ${table}: a row is damaged` })
    }
  }
}

const hasSoundBlobs = (table: ShippedTable, row: Tuple): boolean => {
  const [columns, { values, blobs }] = [columnsOf(table), rowIn(table, row)]
  return blobsOf(table).every((name, index) => {
    const blob = blobs[index]
    return blob !== undefined && crc32(blob) === values[columns.indexOf(`${name}_checksum`)]
  })
}

/** What of a delta has been taken. */
class Sending {
  readonly before: Position
  position: Position
  rows = 0
  readonly #take: TakeRow
  readonly #maximumBytes: number
  readonly #kinds = new Map<string, DeltaKind>()
  #bytes = 0

  constructor(before: Position, take: TakeRow, maximumBytes: number) {
    this.before = before
    this.position = before
    this.#take = take
    this.#maximumBytes = maximumBytes
  }

  get isFull(): boolean {
    return this.#bytes >= this.#maximumBytes
  }

  get kinds(): ReadonlyArray<DeltaKind> {
    return [...this.#kinds.values()]
  }

  row(table: ShippedTable, row: Tuple): void {
    this.#bytes = this.#take(rowIn(table, row))
    this.rows++
  }

  moveOn(on: Partial<Position>): void {
    this.position = { ...this.position, ...on }
  }

  count(gvk: string, more: Partial<DeltaKind>): void {
    const before = this.#kinds.get(gvk) ?? noEvents(gvk)
    this.#kinds.set(gvk, {
      gvk,
      events: before.events + (more.events ?? 0),
      gaps: before.gaps + (more.gaps ?? 0),
      fromTime: before.fromTime || (more.fromTime ?? 0),
      toTime: Math.max(before.toTime, more.toTime ?? 0),
      firstVersion: before.firstVersion || (more.firstVersion ?? ""),
      lastVersion: more.lastVersion ?? before.lastVersion,
    })
  }
}

const noEvents = (gvk: string): DeltaKind => ({
  ...{ gvk, events: 0, gaps: 0, fromTime: 0, toTime: 0, firstVersion: "", lastVersion: "" },
})
