/**
 * A file beside the recording that is given up when the disk is full, so that retention can remove something then.
 *
 * SQLite needs room to delete. What it deletes goes to the log first, and the log can begin anew only once it has been written into the database file. On
 * a full file system that fails as soon as it would make the file longer: of 48 MiB that a recording had filled, retention removed nothing, because the file
 * was 0.3 MB too short for a log of 4.6 MB. Pages that are free within the file do not help, as every commit takes some of them.
 *
 * Only a recording with limits has one, beyond what the limits allow. While it is given up its file is empty, so that a later process knows that what room
 * there is was the reserve's.
 */

import { randomBytes } from "node:crypto"
import { closeSync, openSync, rmSync, statfsSync, statSync, truncateSync, writeSync } from "node:fs"
import { join } from "node:path"
import { systemCodeOf } from "../directory/archive-errors.ts"
import { makePrivateFile } from "../directory/private-files.ts"
import { type Connection, pragmaOf } from "../tables/database.ts"
import { DATABASE_FILE, logOf } from "../tables/reading-access.ts"

/** Its name in a data directory. */
export const RESERVE_FILE = "reserve"

/** What the log has between two checkpoints (schema.ts), by which the database file may have to grow, and as much for what retention writes. */
export const RESERVE_BYTES = 8 * 1024 * 1024

const PIECE_BYTES = 1024 * 1024

/** Belongs to the writer of a recording. */
export class DiskReserve {
  readonly bytes: number
  readonly #directory: string
  readonly #path: string
  #isWhole: boolean
  #isLent: boolean

  constructor(directory: string, bytes: number) {
    this.bytes = bytes
    this.#directory = directory
    this.#path = join(directory, RESERVE_FILE)
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size
    this.#isWhole = (size ?? 0) >= bytes
    this.#isLent = size !== undefined && !this.#isWhole
  }

  /** Whether the file is there with all its bytes. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Whether it was given up, by this process or an earlier one, and not made again. */
  get isLent(): boolean {
    return this.#isLent
  }

  /** Bytes that the file system has free. @throws what the file system throws */
  available(): number {
    const { bavail, bsize } = statfsSync(this.#directory)
    return bavail * bsize
  }

  /** Gives the file's bytes up; returns whether there were any. */
  lend(): boolean {
    const had = lendReserve(this.#directory)
    this.#isWhole = false
    this.#isLent ||= had
    return had
  }

  /** Removes the file: there is to be none. */
  remove(): void {
    rmSync(this.#path, { force: true })
    this.#isWhole = false
    this.#isLent = false
  }

  /** Makes the file again, if there is room for it; returns whether it is there. Takes some ms. */
  restore(): boolean {
    if (this.#isWhole || this.available() < this.bytes) return this.#isWhole
    try {
      makePrivateFile(this.#path)
      this.#fill()
      this.#isWhole = true
      this.#isLent = false
    } catch (error) {
      if (this.#isLent) lendReserve(this.#directory)
      else rmSync(this.#path, { force: true })
      // Someone else took the room, or the disk fails, which the next commit reports.
      if (systemCodeOf(error) === undefined) throw error
    }
    return this.#isWhole
  }

  /** With bytes that a file system cannot compress. */
  #fill(): void {
    const piece = randomBytes(Math.min(PIECE_BYTES, this.bytes))
    const file = openSync(this.#path, "r+")
    try {
      for (let left = this.bytes; left > 0; ) left -= writeSync(file, piece, 0, Math.min(left, piece.length))
    } finally {
      closeSync(file)
    }
  }
}

/** Gives up the bytes of the file in a data directory that no writer has open; returns whether there were any. */
export const lendReserve = (directory: string): boolean => {
  const path = join(directory, RESERVE_FILE)
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return false
  truncateSync(path)
  return true
}

// The bytes of a recording on disk, and how they are given back.
//
// Pages of removed rows are used again for what is recorded next, so only what exceeds a part of the file is given back to the system, some
// pages at a time: SQLite moves the last pages of the file into free ones, and the next checkpoint cuts it.

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

/** Those that removing rows can free. */
export const usedBytes = ({ database, free, log }: DiskUse): number => database - free + log

/** Free pages that are kept, as a part of the file: the next blocks use them. */
const KEPT_PART = 16

/** Likewise, at least 4 MB. */
const KEPT_PAGES = 1024

/** Pages moved in one transaction: some 3 ms. */
const PAGES_PER_STEP = 256

/** @throws what SQLite and the file system throw */
export const diskUse = (database: Connection, directory: string): DiskUse => {
  const pageSize = pragmaOf(database, "page_size")
  return {
    database: pragmaOf(database, "page_count") * pageSize,
    free: pragmaOf(database, "freelist_count") * pageSize,
    file: statSync(join(directory, DATABASE_FILE)).size,
    log: statSync(logOf(directory), { throwIfNoEntry: false })?.size ?? 0,
  }
}

/**
 * Gives some free pages back, if there are more than are to be kept. `isShort`: none are to be kept. Returns whether there may be more.
 *
 * @throws what SQLite throws
 */
export const giveBack = (database: Connection, isShort: boolean): boolean => {
  const free = pragmaOf(database, "freelist_count")
  const kept = isShort ? 0 : Math.max(KEPT_PAGES, Math.floor(pragmaOf(database, "page_count") / KEPT_PART))
  const pages = Math.min(PAGES_PER_STEP, free - kept)
  if (pages <= 0) return false
  // A statement that must be run to its end: each step moves one page.
  database.prepare(`PRAGMA incremental_vacuum(${pages})`).all()
  return pages === PAGES_PER_STEP && pragmaOf(database, "freelist_count") < free
}

// Whether a recording has more bytes than its limit, and how much it grows nevertheless.

/** Of the whole recording. */
export class BytesLimit {
  readonly #used: () => number
  #bytes: number | undefined
  /** What is beyond the limit cannot be removed: a reader keeps it, or it is the state of what lives on. */
  #isStuck = false
  /** The least that was used since the limit was set, or since something could not be removed. */
  #least = Number.POSITIVE_INFINITY

  /** `used`: bytes that the recording has on disk, as far as removing helps. */
  constructor(used: () => number) {
    this.#used = used
  }

  /** `undefined`: there is none. */
  set(bytes: number | undefined): void {
    this.#bytes = bytes
    this.#least = Number.POSITIVE_INFINITY
  }

  /** Everything was removed that could be. @throws what `used` throws */
  noteRemoved(): void {
    this.#isStuck = false
    this.#isStuck = this.isExceeded()
  }

  /** Whether something is to be removed before anything else is done. @throws what `used` throws */
  isExceeded(): boolean {
    return this.#bytes !== undefined && !this.#isStuck && this.#used() > this.#bytes
  }

  /** Whether at least this part of the limit is used. @throws what `used` throws */
  isUsed(part: number): boolean {
    return this.#bytes !== undefined && this.#used() >= this.#bytes * part
  }

  /**
   * Bytes by which the recording has outgrown its limit; one that was larger when it got the limit, by which it has grown since it was smallest. 0 while what is
   * beyond cannot be removed.
   *
   * @throws what `used` throws
   */
  outgrown(): number {
    if (this.#bytes === undefined) return 0
    const used = this.#used()
    this.#least = this.#isStuck ? Number.POSITIVE_INFINITY : Math.min(this.#least, used)
    return Math.max(0, used - Math.max(this.#bytes, this.#least))
  }
}
