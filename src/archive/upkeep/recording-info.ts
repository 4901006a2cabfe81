/** What a recording holds and what it takes on disk, by kind, and how fast it grows. Reads rows, no event. */

import { statfsSync } from "node:fs"
import { bytesOfBlob } from "../blocks/far-blobs.ts"
import { type HeldLease, heldLeases } from "../leases/lease.ts"
import { diskUse } from "../retention/disk-reserve.ts"
import { readKeptKinds } from "../rows/kind-table.ts"
import { type Connection, numberOf, prepare } from "../tables/database.ts"
import { FORMAT_VERSION, readingRecording } from "../tables/schema.ts"

/** One kind. Times are µs since the Unix epoch. */
interface KindInfo {
  readonly gvk: string
  /** Since when it is recorded without what retention removed; 0: its first list is not complete. */
  readonly since: number
  /** Retention removed what happened up to then; 0: nothing. */
  readonly removedThrough: number
  /** When it was last known to be complete. */
  readonly until: number
  readonly events: number
  readonly gaps: number
  readonly lateRanges: number
  /** On disk: its share of the blocks. */
  readonly storedBytes: number
}

export interface RecordingInfo {
  readonly format: number
  /** Bytes of the database file, of them free, and of the log. */
  readonly databaseBytes: number
  readonly freeBytes: number
  readonly logBytes: number
  readonly blocks: number
  readonly events: number
  /** Events that are kept only because their objects live on. */
  readonly carriedEvents: number
  readonly gaps: number
  readonly kinds: ReadonlyArray<KindInfo>
  /** Bytes by which it grows in a day, going by the last day that was recorded; `undefined` with less than a minute. */
  readonly growthPerDay: number | undefined
  /** Bytes that its file system has free. */
  readonly diskFreeBytes: number
  /** Days until the disk is full, if nothing is removed; `undefined` if it does not grow. */
  readonly daysLeft: number | undefined
  /** Who reads it now. */
  readonly leases: ReadonlyArray<HeldLease>
}

const dayMicros = 86_400_000_000
const minuteMicros = 60_000_000

/** @throws NotARecordingError, NewerRecordingError, OlderRecordingError, ArchiveIoError, CorruptArchiveError */
export const readRecordingInfo = (directory: string, nowMicros: number): RecordingInfo =>
  readingRecording(directory, (database) => {
    const { database: databaseBytes, free: freeBytes, log: logBytes } = diskUse(database, directory)
    const kinds = kindsOf(database)
    const { bavail, bsize } = statfsSync(directory)
    const diskFreeBytes = bavail * bsize
    const stored = kinds.reduce((sum, { storedBytes }) => sum + storedBytes, 0)
    const growthPerDay = growthOf(database, stored === 0 ? 1 : Math.max(1, (databaseBytes - freeBytes) / stored))
    return {
      ...{ format: FORMAT_VERSION, databaseBytes, freeBytes, logBytes, kinds, growthPerDay, diskFreeBytes },
      daysLeft: growthPerDay ? (diskFreeBytes + freeBytes) / growthPerDay : undefined,
      blocks: numberOf(database, "SELECT count(*) AS value FROM block"),
      carriedEvents: numberOf(database, "SELECT sum(carried) AS value FROM block"),
      events: kinds.reduce((sum, { events }) => sum + events, 0),
      gaps: kinds.reduce((sum, { gaps }) => sum + gaps, 0),
      leases: heldLeases(directory, nowMicros),
    }
  })

/** Bytes on disk of a kind in a block: its part of the block's bytes. */
const share = `block_kind.bytes * (${bytesOfBlob("toc")} + ${bytesOfBlob("data")}) / (toc_size + data_size + 1.0)`

const blocksOfKind = "FROM block_kind JOIN block ON block.last_sequence = block_kind.last_sequence WHERE kind = ?1"

const kindsOf = (database: Connection): ReadonlyArray<KindInfo> => {
  const sums = prepare<Pick<KindInfo, "events" | "storedBytes" | "gaps" | "lateRanges">>(
    database,
    `SELECT coalesce(sum(block_kind.events), 0) AS events, coalesce(sum(${share}), 0) AS storedBytes,
      (SELECT count(*) FROM gap WHERE kind = ?1) AS gaps, (SELECT count(*) FROM late_range WHERE kind = ?1) AS lateRanges
    ${blocksOfKind}`,
  )
  const nothing = { events: 0, storedBytes: 0, gaps: 0, lateRanges: 0 }
  return readKeptKinds(database).map(({ id, gvk, recordedSince, removedThrough, completeThroughTime }) => {
    const { storedBytes, ...counts } = sums.get(id) ?? nothing
    return {
      ...{ gvk, since: recordedSince, removedThrough, until: completeThroughTime },
      ...{ ...counts, storedBytes: Math.round(storedBytes) },
    }
  })
}

/**
 * The sum of what kinds grow by, each going by what is left of it: of one that is kept for ten minutes, ten minutes. `factor`: bytes of the database for each byte
 * of a block.
 */
const growthOf = (database: Connection, factor: number): number | undefined => {
  const first = numberOf(database, "SELECT min(min_time) AS value FROM block_kind")
  const last = numberOf(database, "SELECT max(max_received) AS value FROM block_kind")
  let perDay: number | undefined
  for (const { id, removedThrough } of readKeptKinds(database)) {
    const from = Math.max(first, removedThrough, last - dayMicros)
    if (last - from < minuteMicros) continue
    const stored = numberOf(database, `SELECT sum(${share}) AS value ${blocksOfKind} AND max_received >= ?2`, id, from)
    perDay = (perDay ?? 0) + (stored * factor * dayMicros) / (last - from)
  }
  return perDay === undefined ? undefined : Math.round(perDay)
}
