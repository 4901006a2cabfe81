/**
 * What of a recording was found intact, for a reader of many questions: sealed blocks, which never change, and rows of objects, so that a question that comes every few
 * seconds need not read a whole recording each time. Damage that arises later is found by what reads the blocks, or a row, themselves.
 */
import { statSync } from "node:fs"
import { join } from "node:path"
import { DATABASE_FILE } from "../tables/reading-access.ts"

/** Of one data directory. A recording that takes the place of another begins anew. */
export class KnownIntact {
  #inode: number | undefined
  #blocks = new Set<number>()
  #objects = new Map<number, number>()

  /** Keys of blocks, to be passed to a BlockSource of that directory. */
  blocksOf(directory: string): Set<number> {
    this.#renew(directory)
    return this.#blocks
  }

  /** By kind, the number of the last object up to which rows are sound. */
  objectsOf(directory: string): Map<number, number> {
    this.#renew(directory)
    return this.#objects
  }

  #renew(directory: string): void {
    const inode = statSync(join(directory, DATABASE_FILE), { throwIfNoEntry: false })?.ino
    if (inode === this.#inode) return
    this.#inode = inode
    this.#blocks = new Set()
    this.#objects = new Map()
  }
}
