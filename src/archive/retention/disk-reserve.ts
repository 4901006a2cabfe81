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
import { systemCodeOf } from "../archive-errors.ts"
import { makePrivateFile } from "../directory/private-files.ts"

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
