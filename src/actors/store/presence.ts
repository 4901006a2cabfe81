/**
 * Detects that the files of a recording were removed or moved while it is being written.
 *
 * The operating system lets a process continue writing to a file that has no name any more: without this check everything would seem well
 * until the process ends and the recording is lost with it.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { DATABASE_FILE } from "../../archive/schema.ts"

export class Presence {
  /** Inode of each file once it was seen: the log appears with the first write. */
  readonly #inodes = new Map<string, number | undefined>()

  constructor(directory: string) {
    const database = join(directory, DATABASE_FILE)
    for (const path of [database, `${database}-wal`]) this.#inodes.set(path, inodeOf(path))
  }

  /** Path of a file that is missing or has been replaced; `undefined` if all are present. Costs two stat(2). */
  missing(): string | undefined {
    for (const [path, known] of this.#inodes) {
      const found = inodeOf(path)
      if (known === undefined) this.#inodes.set(path, found)
      else if (found !== known) return path
    }
    return undefined
  }
}

const inodeOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.ino
