/**
 * Copies what is sound of a damaged recording into a new directory, where a recorder can continue it and exports say
 * what is missing.
 *
 * Blocks that are damaged stay listed under their kinds without their events, so each export names them as it did before. Names of objects
 * are found in the objects themselves. What else is lost of a table may concern anything, so it is a gap of all kinds over the whole time. A copy
 * that cannot be finished is removed.
 */

import { constants, copyFileSync, existsSync, rmSync, truncateSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync, SQLInputValue, SQLOutputValue } from "node:sqlite"
import { formatExactJson, isJsonObject, metadataOf } from "../../trace/index.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import { BlockSource } from "../blocks/block-source.ts"
import { isAbridged } from "../blocks/object-bytes.ts"
import {
  CorruptArchiveError,
  DirectoryNotWritableError,
  isDamage,
  toArchiveError,
  unlessDamaged,
} from "../directory/archive-errors.ts"
import { lockDirectory } from "../directory/directory-lock.ts"
import { makePrivateDirectory } from "../directory/private-files.ts"
import { forgetCopies } from "../pins/pin-rows.ts"
import { gapWriter } from "../rows/gap-rows.ts"
import type { KindKey } from "../rows/kind-table.ts"
import { beginningOf, FIRST_LISTS_KEY, LOST_BEGINNING_KEY, type LostBeginning, WRITER_KEY } from "../rows/metadata.ts"
import { type Connection, numberOf, prepare, prepareTuples, rowsOf } from "../tables/database.ts"
import { cutOff, openDamaged, requireRecording } from "../tables/reading-access.ts"
import { DATABASE_FILE, lastSequenceOf, openForWriting, requireFormat } from "../tables/schema.ts"
import { addChecksumFunction, TABLES_OF_ROWS, TABLES_OF_WRITES } from "../tables/sound-rows.ts"
import { columnsOf, isSoundRow, rowWriter } from "../tables/tables.ts"

interface Salvage {
  /** What was lost for good, a sentence each. */
  readonly lost: ReadonlyArray<string>
  /** What was lost and found elsewhere in the recording, a sentence each. */
  readonly recovered: ReadonlyArray<string>
  readonly blocks: number
  readonly lostBlocks: number
}

/** Lost rows of these tables leave no trace in others, or, those of `block_kind`, hide events that are there. */
const silentTables = [
  "block_kind",
  "gap",
  "late_range",
  "pod",
  "pod_life",
  "owner_set",
  "former_owner_set",
  "owner",
  "kind_namespace",
  "retained",
]

const batchRows = 500

/**
 * `target` is created, or is an empty directory.
 *
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, DirectoryInUseError, DirectoryNotWritableError, DiskFullError,
 * ArchiveIoError, CorruptArchiveError
 */
export const salvageRecording = (directory: string, target: string): Salvage => {
  try {
    requireRecording(directory)
    const lock = lockDirectory(target)
    try {
      if (existsSync(join(target, DATABASE_FILE)))
        throw new DirectoryNotWritableError({ directory: target, code: "EEXIST", reason: "it contains a recording" })
      const cut = cutOff(directory)
      if (cut === undefined) return salvageFrom(directory, directory, target, [])
      using completed = writing(() => completedCopy(directory, target, cut.expectedBytes))
      const lost = `all after the first ${cut.bytes} of ${cut.expectedBytes} bytes of ${DATABASE_FILE}`
      return salvageFrom(directory, completed.directory, target, [lost])
    } finally {
      lock.release()
    }
  } catch (error) {
    if (error instanceof CopyTrouble) throw toArchiveError(target, "salvage", error.cause)
    const known = toArchiveError(directory, "salvage", error)
    throw known instanceof CorruptArchiveError
      ? new CorruptArchiveError({ directory, reason: known.reason, isBeyondSalvage: true })
      : known
  }
}

/** A directory to read instead of a recording's. Disposing of it removes it. */
interface CompletedCopy extends Disposable {
  readonly directory: string
}

/**
 * SQLite reads no database that is shorter than its header says, so of one that was cut off, as by a copy that was not finished, a copy is
 * read in which zeros, which SQLite takes for damaged pages, are in the place of what is missing.
 *
 * Copies the database into a directory inside `target` and extends it to `bytes`. This takes as much room as what is left, unless the file
 * system can share it.
 *
 * @throws what the file system throws
 */
const completedCopy = (directory: string, target: string, bytes: number): CompletedCopy => {
  const completed = join(target, "cut-off")
  const remove = (): void => rmSync(completed, { recursive: true, force: true })
  try {
    makePrivateDirectory(completed)
    const path = join(completed, DATABASE_FILE)
    copyFileSync(join(directory, DATABASE_FILE), path, constants.COPYFILE_FICLONE)
    truncateSync(path, bytes)
    return { directory: completed, [Symbol.dispose]: remove }
  } catch (error) {
    remove()
    throw error
  }
}

const salvageFrom = (directory: string, readable: string, target: string, lost: string[]): Salvage => {
  const source = openDamaged(readable, (fault) => lost.push(`the end of the log: ${fault}`))
  try {
    addChecksumFunction(source)
    requireFormat(source, directory)
    return copyInto(target, (copy) => new Salvager(directory, source, copy, lost).run())
  } finally {
    source.close()
  }
}

/** Leaves nothing of a copy that is not whole: it would pass for a recording. */
const copyInto = <Result>(target: string, write: (copy: DatabaseSync) => Result): Result => {
  let isWhole = false
  try {
    const copy = openForWriting(target, { fsync: "always" })
    try {
      const result = write(copy)
      isWhole = true
      return result
    } finally {
      copy.close()
    }
  } finally {
    if (!isWhole)
      for (const suffix of ["", "-wal", "-shm"]) rmSync(join(target, `${DATABASE_FILE}${suffix}`), { force: true })
  }
}

/** The copy cannot be written, which is no damage of the recording. */
class CopyTrouble extends Error {
  constructor(cause: unknown) {
    super("the copy cannot be written", { cause })
  }
}

const writing = <Result>(write: () => Result): Result => {
  try {
    return write()
  } catch (error) {
    throw new CopyTrouble(error)
  }
}

class Salvager {
  readonly #directory: string
  readonly #from: DatabaseSync
  readonly #to: DatabaseSync
  readonly #lost: string[]
  readonly #recovered: string[] = []

  constructor(directory: string, from: DatabaseSync, to: DatabaseSync, lost: string[]) {
    this.#directory = directory
    this.#from = from
    this.#to = to
    this.#lost = lost
  }

  run(): Salvage {
    const lostRows = new Map(
      [...TABLES_OF_ROWS, ...TABLES_OF_WRITES].map((table): readonly [string, boolean] => [
        table,
        this.#copyRows(table),
      ]),
    )
    const blocks = this.#copyBlocks()
    this.#copyCheckpoints()
    const silent = silentTables.filter((table) => lostRows.get(table))
    writing(() => this.#complete(silent))
    if (lostRows.get("kind") === true) writing(() => this.#markUnknownKinds())
    return { lost: this.#lost, recovered: this.#recovered, ...blocks }
  }

  /** Uses nothing but the copy. `silent`: tables that have lost rows of which nothing else tells. */
  #complete(silent: ReadonlyArray<string>): void {
    this.#findKinds()
    this.#findNames()
    if (silent.length > 0) this.#markAll(`${silent.join(", ")}: rows were lost when the recording was salvaged`)
    forgetCopies(this.#to)
    this.#to.prepare("INSERT OR REPLACE INTO metadata (key, value) VALUES (?, 'closed')").run(WRITER_KEY)
    this.#to.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  /** Copies the sound rows of a table; returns whether any was lost. */
  #copyRows(table: string): boolean {
    const columns = columnsOf(table).join(", ")
    const insert = this.#insertInto(table)
    let damaged = 0
    let isCut = false
    // From both ends: behind a damaged page are rows too.
    for (const order of ["ASC", "DESC"]) {
      if (order === "DESC" && !isCut) break
      try {
        const rows = this.#from.prepare(`
          SELECT ${columns}, ${isSoundRow(table)} AS is_sound FROM ${table} ORDER BY ${keyOf(table)} ${order}`)
        rows.setReadBigInts(true)
        rows.setReturnArrays(true)
        this.#inBatches(rows.iterate(), (row) => {
          const values = Object.values(row)
          if (values.pop() === 1n) insert(values)
          else if (order === "ASC") damaged++
        })
      } catch (error) {
        if (!isDamage(error)) throw error
        isCut = true
      }
    }
    if (damaged > 0) this.#lost.push(`table ${table}: ${damaged} damaged ${damaged === 1 ? "row" : "rows"}`)
    if (isCut) this.#lost.push(`table ${table}: the rows of damaged pages`)
    return damaged > 0 || isCut
  }

  #copyBlocks(): { readonly blocks: number; readonly lostBlocks: number } {
    const checking = new BlockSource(this.#from, this.#directory, { cachedBytes: 0 })
    const columns = [...columnsOf("block"), "toc", "data"]
    const insert = this.#insertInto("block", columns)
    const read = prepareTuples<SQLOutputValue[]>(
      this.#from,
      `SELECT ${columns.join(", ")} FROM block WHERE last_sequence = ?`,
    )
    const listed = rowsOf<{ readonly key: number }>(this.#to, "SELECT DISTINCT last_sequence AS key FROM block_kind")
    const keys = [...new Set([...listed, ...this.#carriedBlocks()].map(({ key }) => key))].sort((a, b) => a - b)
    let lostBlocks = 0
    this.#inBatches(keys, (key) => {
      if (checking.isIntact(key)) insert(read.get(key) ?? [])
      else {
        lostBlocks++
        this.#lost.push(`the block up to event ${key}: ${checking.faultOf(key)}`)
      }
    })
    return { blocks: keys.length, lostBlocks }
  }

  /** Those with what retention carried over, which no kind lists. */
  #carriedBlocks(): ReadonlyArray<{ readonly key: number }> {
    const carried = unlessDamaged(() =>
      rowsOf<{ readonly key: number }>(this.#from, "SELECT last_sequence AS key FROM block WHERE carried > 0"),
    )
    if (carried === undefined) this.#lost.push("the list of blocks with what retention carried over")
    return carried ?? []
  }

  /** They only repeat what blocks contain, except the states at the beginning of what retention kept, whose lack is noticed. */
  #copyCheckpoints(): void {
    const columns = [...columnsOf("checkpoint"), "states"]
    const insert = this.#insertInto("checkpoint", columns)
    unlessDamaged(() => {
      const rows = prepareTuples<SQLOutputValue[]>(
        this.#from,
        `SELECT ${columns.join(", ")} FROM checkpoint WHERE ${isSoundRow("checkpoint")} ORDER BY rowid`,
      )
      this.#inBatches(rows.iterate(), insert)
    })
  }

  #findKinds(): void {
    for (const { id, gvk } of lostKinds(this.#to, this.#blocks())) {
      if (gvk === undefined) {
        this.#lost.push(`the name of kind ${id}, with its events`)
        for (const table of ["block_kind", "object", "checkpoint", "retained"])
          this.#to.prepare(`DELETE FROM ${table} WHERE kind = ?`).run(id)
        continue
      }
      this.#to
        .prepare(`
          INSERT INTO kind (id, gvk, epoch, complete_through, complete_through_time, next_object_number, last_event_time,
            last_received_time, cluster_uid, list_reason, selection, recorded_since)
          SELECT ?1, ?2, 0, '', 0, coalesce((SELECT max(number) FROM object WHERE kind = ?1), 0) + 1,
            coalesce(max(max_time), 0), coalesce(max(max_received), 0), '', '', '', 0 FROM block_kind WHERE kind = ?1`)
        .run(id, gvk)
      this.#recovered.push(`the name of kind ${gvk}; since when it was recorded is unknown`)
    }
  }

  #findNames(): void {
    const source = this.#blocks()
    const insert = rowWriter(this.#to, "object")
    const addOwners = prepare<{ readonly id: number }>(
      this.#to,
      "INSERT INTO owner_set (id, owner_references) SELECT coalesce(max(id), 0) + 1, ? FROM owner_set RETURNING id",
    )
    const kinds = rowsOf<KindKey>(this.#to, "SELECT id, gvk FROM kind ORDER BY id")
    for (const kind of kinds) {
      const numbers = "SELECT number FROM object WHERE kind = ?"
      const known = new Set(rowsOf<{ readonly number: number }>(this.#to, numbers, kind.id).map(({ number }) => number))
      const names = lostNames(source, kind, (number) => known.has(number))
      for (const { ownerReferences, ...name } of names) {
        const owners = ownerReferences === "" ? 0 : (addOwners.get(ownerReferences)?.id ?? 0)
        insert({ ...name, kind: kind.id, owners })
      }
      if (names.length > 0) this.#recovered.push(`the names of ${names.length} objects of kind ${kind.gvk}`)
    }
  }

  /** A gap of every kind over all of the recorded time. */
  #markAll(detail: string): void {
    const add = gapWriter(this.#to)
    const [times] = rowsOf<{ readonly fromTime: number; readonly toTime: number }>(
      this.#to,
      `SELECT coalesce(min(first), 0) AS fromTime, coalesce(max(last), 0) AS toTime FROM (
        SELECT min(min_time) AS first, max(max_time) AS last FROM block_kind
        UNION ALL SELECT min(nullif(recorded_since, 0)), max(complete_through_time) FROM kind)`,
    )
    const gap = {
      fromVersion: "",
      toVersion: "",
      namespace: "",
      reason: "damaged" as const,
      detail,
      fromTime: 0,
      toTime: 0,
    }
    for (const { id } of rowsOf<KindKey>(this.#to, "SELECT id FROM kind"))
      add({ sequence: lastSequenceOf(this.#to) + 1, kind: id, gap: { ...gap, ...times } })
  }

  /** Kinds that are lost as a whole are gaps as soon as a recorder lists them. */
  #markUnknownKinds(): void {
    const fromTime =
      numberOf(this.#to, "SELECT min(min_time) AS value FROM block_kind") || (beginningOf(this.#directory) ?? 0)
    const lost: LostBeginning = { fromTime, detail: "kind: rows were lost when the recording was salvaged" }
    const put = this.#to.prepare("INSERT OR REPLACE INTO metadata (key, value) VALUES (?, ?)")
    put.run(LOST_BEGINNING_KEY, JSON.stringify(lost))
    this.#to.prepare("DELETE FROM metadata WHERE key = ?").run(FIRST_LISTS_KEY)
  }

  #blocks(): BlockSource {
    return new BlockSource(this.#to, this.#directory)
  }

  #insertInto(table: string, columns = columnsOf(table)): (row: ReadonlyArray<SQLInputValue>) => void {
    const insert = this.#to.prepare(
      `INSERT OR IGNORE INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    )
    return (row) => void writing(() => insert.run(...row))
  }

  #inBatches<Row>(rows: Iterable<Row>, write: (row: Row) => void): void {
    let written = 0
    const execute = (sql: string): void => writing(() => this.#to.exec(sql))
    execute("BEGIN")
    try {
      for (const row of rows) {
        write(row)
        if (++written % batchRows === 0) execute("COMMIT; BEGIN")
      }
    } catch (error) {
      // What was read before damage is kept.
      if (!(error instanceof CopyTrouble)) execute("COMMIT")
      throw error
    }
    execute("COMMIT")
  }
}

const keys: Readonly<Record<string, string>> = {
  author: "id",
  audited_write: "kind, version, object, effect, received, author",
  metadata: "key",
  pin: "id",
  kind: "id",
  kind_namespace: "kind, namespace",
  gap: "sequence",
  late_range: "kind, namespace, not_before, cause",
  block_kind: "kind, last_sequence",
  sender: "name",
  object: "kind, number",
  pod: "number",
  pod_life: "sequence",
  owner_set: "id",
  former_owner_set: "kind, number, until_time",
  owner: "uid, gvk",
  retained: "kind",
}

const keyOf = (table: string): string => {
  const key = keys[table]
  if (key === undefined) throw new RangeError(`table ${table} has no key`)
  return key
}

// Names of kinds and of objects whose rows are lost. Blocks list kinds by number, and their tables of contents name the kinds that they contain. Names of
// objects are in the objects themselves: `metadata` of any event has them that is not abridged, as the first of an object
// never is. Of an object without such an event, because it has expired, only deletions are left; it gets a name that no object has.

interface LostKind {
  /** The recording's number for the kind. */
  readonly id: number
  /** `undefined`: it cannot be told from others that are lost as well. */
  readonly gvk: string | undefined
}

/** The kinds that blocks list and the table of kinds does not have. */
const lostKinds = (database: Connection, source: BlockSource): ReadonlyArray<LostKind> => {
  const known = new Set(rowsOf<KindKey>(database, "SELECT gvk FROM kind").map(({ gvk }) => gvk))
  const keys = prepare<{ readonly key: number }>(database, "SELECT last_sequence AS key FROM block_kind WHERE kind = ?")
  return rowsOf<KindKey>(
    database,
    "SELECT DISTINCT kind AS id FROM block_kind WHERE kind NOT IN (SELECT id FROM kind) ORDER BY id",
  ).map(({ id }) => {
    let candidates: Set<string> | undefined
    for (const { key } of keys.all(id)) {
      if (!source.isIntact(key)) continue
      const inBlock = new Set(source.tableAt(key).frames.map((frame) => frame.events.gvk))
      candidates = new Set([...(candidates ?? inBlock)].filter((gvk) => inBlock.has(gvk) && !known.has(gvk)))
    }
    const [gvk, ...others] = candidates ?? []
    return { id, gvk: others.length === 0 ? gvk : undefined }
  })
}

interface FoundName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly firstSequence: number
  /** The JSON array, the empty string for none. */
  readonly ownerReferences: string
}

/** The objects of a kind that events mention and that have no name. `isKnown`: whether a number has one. */
const lostNames = (
  source: BlockSource,
  kind: KindKey,
  isKnown: (number: number) => boolean,
): ReadonlyArray<FoundName> => {
  const found = new Map<number, FoundName>()
  const first = new Map<number, number>()
  source.passingOverDamage(() => {
    for (const frame of everyFrame(source, kind)) {
      for (let index = 0; index < frame.events.count; index++) {
        const number = frame.events.objectNumber(index)
        if (isKnown(number) || found.has(number)) continue
        const sequence = frame.sequence(index)
        if (!first.has(number)) first.set(number, sequence)
        if (frame.events.length(index) === 0) continue
        const { stored } = source.eventAt(sequence)
        const name = isAbridged(stored) ? undefined : nameIn(stored)
        if (name !== undefined) found.set(number, { number, firstSequence: first.get(number) ?? sequence, ...name })
      }
    }
  })
  return [...first].map(
    ([number, firstSequence]) =>
      found.get(number) ?? {
        ...{ number, firstSequence, ownerReferences: "" },
        ...{ uid: `lost-${kind.id}-${number}`, namespace: "", name: `lost-${number}` },
      },
  )
}

const nameIn = (object: Uint8Array): Omit<FoundName, "number" | "firstSequence"> | undefined => {
  const metadata = metadataOf(object)
  if (metadata === undefined) return undefined
  const { uid, namespace = "", name, ownerReferences } = metadata
  if (typeof uid !== "string" || typeof namespace !== "string" || typeof name !== "string") return undefined
  const hasOwners = Array.isArray(ownerReferences) && ownerReferences.every(isJsonObject)
  return { uid, namespace, name, ownerReferences: hasOwners ? formatExactJson(ownerReferences) : "" }
}

function* everyFrame(source: BlockSource, kind: KindKey): Generator<BlockFrame, void, void> {
  yield* source.framesCarriedOver(kind)
  yield* source.framesOf(kind, 0)
}
