/**
 * The sealed blocks of a recording that were found intact: blocks never change, so that a question that comes every few seconds need not
 * read a whole recording each time. Damage that arises later is found by what reads the blocks themselves.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { DATABASE_FILE } from "../reading-access.ts"

/** Of one data directory. */
export class IntactBlocks {
  #inode: number | undefined
  #keys = new Set<number>()

  /** To be passed to a BlockSource of that directory. A recording that took the place of another begins with an empty set. */
  of(directory: string): Set<number> {
    const inode = statSync(join(directory, DATABASE_FILE), { throwIfNoEntry: false })?.ino
    if (inode !== this.#inode) this.#keys = new Set()
    this.#inode = inode
    return this.#keys
  }
}
