/**
 * The bytes of a recording on disk, and how they are given back.
 *
 * Pages of removed rows are used again for what is recorded next, so only what exceeds a part of the file is given back to the system, some
 * pages at a time: SQLite moves the last pages of the file into free ones, and the next checkpoint cuts it.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import type { DatabaseSync } from "node:sqlite"
import { DATABASE_FILE, logOf } from "../reading-access.ts"

/** Bytes. */
export interface DiskUse {
  /** Of the database file, with what is in the log but not yet in the file. */
  readonly database: number
  /** Part of it that is free. */
  readonly free: number
  /** Of the database file as it is. */
  readonly file: number
  readonly log: number
}

/** Free pages that are kept, as a part of the file: the next blocks use them. */
const KEPT_PART = 16

/** Likewise, at least 4 MB. */
const KEPT_PAGES = 1024

/** Pages moved in one transaction: some 3 ms. */
const PAGES_PER_STEP = 256

/** @throws what SQLite and the file system throw */
export const diskUse = (database: DatabaseSync, directory: string): DiskUse => {
  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
  const pageSize = pragma("page_size")
  return {
    database: pragma("page_count") * pageSize,
    free: pragma("freelist_count") * pageSize,
    file: statSync(join(directory, DATABASE_FILE)).size,
    log: statSync(logOf(directory), { throwIfNoEntry: false })?.size ?? 0,
  }
}

/**
 * Gives some free pages back, if there are more than are to be kept. `isShort`: none are to be kept. Returns whether there may be more.
 *
 * @throws what SQLite throws
 */
export const giveBack = (database: DatabaseSync, isShort: boolean): boolean => {
  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name])
  const free = pragma("freelist_count")
  const kept = isShort ? 0 : Math.max(KEPT_PAGES, Math.floor(pragma("page_count") / KEPT_PART))
  const pages = Math.min(PAGES_PER_STEP, free - kept)
  if (pages <= 0) return false
  // A statement that must be run to its end: each step moves one page.
  database.prepare(`PRAGMA incremental_vacuum(${pages})`).all()
  return pages === PAGES_PER_STEP && pragma("freelist_count") < free
}
