/**
 * Reads all of a recording and says what of it is damaged: its log, the structure of its database, each row, each block, each checkpoint.
 * Changes nothing, also beside a running recorder. Memory is that of one block.
 */

import { requireChecksum } from "../blocks/block.ts"
import { BlockSource } from "../blocks/block-source.ts"
import { CorruptArchiveError, isDamage, toArchiveError } from "../directory/archive-errors.ts"
import { type Connection, prepare, rowsOf } from "../tables/database.ts"
import { openDamaged } from "../tables/reading-access.ts"
import { requireFormat } from "../tables/schema.ts"
import {
  addChecksumFunction,
  faultOfStructure,
  faultOfTable,
  requireDefinitions,
  TABLES_OF_BLOBS,
  TABLES_OF_ROWS,
  TABLES_OF_WRITES,
} from "../tables/sound-rows.ts"
import { isSoundRow } from "../tables/tables.ts"

/** A damaged block as the rows of its kinds describe it. */
export interface DamagedBlock {
  /** Sequence number of its last event. */
  readonly lastSequence: number
  readonly fault: string
  /** Times are µs since the Unix epoch. */
  readonly kinds: ReadonlyArray<{
    readonly gvk: string
    readonly fromTime: number
    readonly toTime: number
    readonly events: number
  }>
}

export interface Verification {
  /** Damage other than that of blocks, a sentence each. */
  readonly faults: ReadonlyArray<string>
  readonly damagedBlocks: ReadonlyArray<DamagedBlock>
  readonly blocks: number
  readonly checkpoints: number
  /** Whether everything is as it was written. */
  readonly isSound: boolean
}

/**
 * @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, and CorruptArchiveError if the database cannot be
 * opened at all
 */
export const verifyRecording = (directory: string): Verification => {
  const faults: string[] = []
  const database = openDamaged(directory, (fault) => faults.push(fault))
  try {
    addChecksumFunction(database)
    requireFormat(database, directory)
    noting(faults, () => requireDefinitions(database, directory))
    for (const table of [...TABLES_OF_ROWS, ...TABLES_OF_WRITES]) noting(faults, () => faultOfTable(database, table))
    for (const table of TABLES_OF_BLOBS) noting(faults, () => faultOfStructure(database, table))
    const source = new BlockSource(database, directory, { cachedBytes: 0 })
    const damagedBlocks: DamagedBlock[] = []
    let blocks = 0
    for (const key of noting(faults, () => keysOfBlocks(database)) ?? []) {
      blocks++
      if (!source.isIntact(key)) damagedBlocks.push(damagedBlock(database, key, source.faultOf(key) ?? ""))
    }
    const checkpoints = noting(faults, () => checkCheckpoints(database, faults)) ?? 0
    return { faults, damagedBlocks, blocks, checkpoints, isSound: faults.length + damagedBlocks.length === 0 }
  } catch (error) {
    throw toArchiveError(directory, "verify", error)
  } finally {
    database.close()
  }
}

/** Takes a fault that is returned, or thrown as damage; everything else is returned or thrown. */
const noting = <Answer>(faults: string[], read: () => Answer): Answer | undefined => {
  try {
    const answer = read()
    if (typeof answer === "string") faults.push(answer)
    return answer
  } catch (error) {
    if (!isDamage(error)) throw error
    faults.push(
      error instanceof CorruptArchiveError ? error.reason : String(error instanceof Error ? error.message : error),
    )
    return undefined
  }
}

/** Of every block that has a row, or should have one. */
const keysOfBlocks = (database: Connection): ReadonlyArray<number> =>
  rowsOf<{ readonly key: number }>(
    database,
    "SELECT last_sequence AS key FROM block_kind UNION SELECT last_sequence FROM block ORDER BY 1",
  ).map(({ key }) => key)

const damagedBlock = (database: Connection, lastSequence: number, fault: string): DamagedBlock => ({
  lastSequence,
  fault,
  kinds: rowsOf<DamagedBlock["kinds"][number]>(
    database,
    `SELECT gvk, min_time AS fromTime, max_time AS toTime, events
    FROM block_kind JOIN kind ON kind.id = block_kind.kind WHERE last_sequence = ?`,
    lastSequence,
  ).map((kind) => ({ ...kind })),
})

/** Returns their number. A damaged one costs time and no change: everything that it contains is in blocks as well. */
const checkCheckpoints = (database: Connection, faults: string[]): number => {
  const rows = rowsOf<{ readonly id: number }>(database, "SELECT rowid AS id FROM checkpoint")
  const read = prepare<{ readonly checksum: number; readonly states: Uint8Array; readonly isSound: number }>(
    database,
    `SELECT states_checksum AS checksum, states, ${isSoundRow("checkpoint")} AS isSound FROM checkpoint WHERE rowid = ?`,
  )
  for (const { id } of rows) {
    noting(faults, () => {
      const row = read.get(id)
      if (row?.isSound !== 1) return `checkpoint ${id} is damaged`
      requireChecksum(row.states, row.checksum)
      return undefined
    })
  }
  return rows.length
}
