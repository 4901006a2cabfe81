/**
 * A file beside the recording that is given up when the disk is full, so that retention can remove something then.
 *
 * SQLite needs room to delete. What it deletes goes to the log first, and the log can begin anew only once it has been written into the database file. On
 * a full file system that fails as soon as it would make the file longer: of 48 MiB that a recording had filled, retention removed nothing, because the file
 * was 0.3 MB too short for a log of 4.6 MB. Pages that are free within the file do not help, as every commit takes some of them.
 *
 * Only a recording with limits has one, beyond what the limits allow.
 */
import { randomBytes } from "node:crypto"
import { closeSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs"
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

  constructor(directory: string, bytes: number) {
    this.bytes = bytes
    this.#directory = directory
    this.#path = join(directory, RESERVE_FILE)
    this.#isWhole = (statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0) >= bytes
  }

  /** Whether the file is there. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Bytes that the file system has free. @throws what the file system throws */
  available(): number {
    const { bavail, bsize } = statfsSync(this.#directory)
    return bavail * bsize
  }

  /** Gives the file up; returns whether there was one. */
  lend(): boolean {
    const had = lendReserve(this.#directory)
    this.#isWhole = false
    return had
  }

  /** Makes the file again, if there is room for it; returns whether it is there. Takes some ms. */
  restore(): boolean {
    if (this.#isWhole || this.available() < this.bytes) return this.#isWhole
    try {
      rmSync(this.#path, { force: true })
      makePrivateFile(this.#path)
      this.#fill()
      this.#isWhole = true
    } catch (error) {
      rmSync(this.#path, { force: true })
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

/** Gives up the file in a data directory that no writer has open; returns whether there was one. */
export const lendReserve = (directory: string): boolean => {
  const path = join(directory, RESERVE_FILE)
  if (statSync(path, { throwIfNoEntry: false }) === undefined) return false
  rmSync(path, { force: true })
  return true
}
