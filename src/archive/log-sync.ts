/**
 * Flushes the write-ahead log of a recording to the disk, off the writer's thread.
 *
 * With `synchronous=NORMAL` SQLite syncs only at checkpoints, so what was committed since is in the system's page cache. One fdatasync of
 * the log makes all of it durable: the database itself was synced by the checkpoint that emptied the log before. SQLite keeps no lock on
 * the log file, so closing a descriptor of our own is harmless (closing one on the database or its shared memory would free SQLite's locks,
 * https://www.sqlite.org/howtocorrupt.html §2.2).
 */

import { closeSync, existsSync, fdatasync, openSync } from "node:fs"
import { join } from "node:path"
import { toArchiveError } from "./archive-errors.ts"
import { DATABASE_FILE } from "./schema.ts"

/** Owns one descriptor, opened on first use. */
export class LogSync {
  readonly #directory: string
  #descriptor: number | undefined
  #underWay = 0
  #isClosed = false

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Resolves when everything committed before the call is on the disk. Rejects with DiskFullError or ArchiveIoError. */
  async sync(): Promise<void> {
    const path = join(this.#directory, `${DATABASE_FILE}-wal`)
    if (this.#isClosed || (this.#descriptor === undefined && !existsSync(path))) return
    this.#descriptor ??= openSync(path, "r")
    const descriptor = this.#descriptor
    this.#underWay++
    await new Promise<void>((resolve, reject) => {
      fdatasync(descriptor, (error) => {
        this.#underWay--
        this.#release()
        if (error === null) resolve()
        else reject(toArchiveError(this.#directory, "sync", error))
      })
    })
  }

  /** Closes the descriptor once no sync uses it any more. */
  close(): void {
    this.#isClosed = true
    this.#release()
  }

  #release(): void {
    if (!this.#isClosed || this.#underWay > 0 || this.#descriptor === undefined) return
    closeSync(this.#descriptor)
    this.#descriptor = undefined
  }
}
