/**
 * What is left of a database file that was cut off, as by a copy that was not finished. SQLite reads none that is shorter than its header says, so a copy is
 * read in which zeros, which SQLite takes for damaged pages, are in the place of what is missing.
 */
import { constants, copyFileSync, rmSync, truncateSync } from "node:fs"
import { join } from "node:path"
import { makePrivateDirectory } from "../directory/private-files.ts"
import { DATABASE_FILE } from "../reading-access.ts"

/** A directory to read instead of a recording's. Disposing of it removes it. */
export interface CompletedCopy extends Disposable {
  readonly directory: string
}

/**
 * Copies the database into a directory inside `target` and extends it to `bytes`. This takes as much room as what is left, unless the file system can
 * share it.
 *
 * @throws what the file system throws
 */
export const completedCopy = (directory: string, target: string, bytes: number): CompletedCopy => {
  const completed = join(target, "cut-off")
  const remove = (): void => rmSync(completed, { recursive: true, force: true })
  try {
    makePrivateDirectory(completed)
    const path = join(completed, DATABASE_FILE)
    copyFileSync(join(directory, DATABASE_FILE), path, constants.COPYFILE_FICLONE)
    truncateSync(path, bytes)
    return { directory: completed, [Symbol.dispose]: remove }
  } catch (error) {
    remove()
    throw error
  }
}
