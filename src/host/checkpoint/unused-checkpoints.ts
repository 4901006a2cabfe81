/**
 * Removes the checkpoints of controllers that are not run any more: files that no host has had open for 30 days. A host touches those that it
 * has open once a day. Files that were set aside are left to a person.
 */
import { readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { keptSeconds } from "./checkpoint-file.ts"

/** Of the file of each controller in a state directory. */
export const checkpointExtension = ".checkpoint"

/** Returns the names of the removed files. Throws errors of the file system. */
export const removeUnused = (directory: string, nowSeconds: number): ReadonlyArray<string> => {
  const unused = readdirSync(directory).filter((name) => {
    if (!name.endsWith(checkpointExtension)) return false
    // Another host may remove it at the same time.
    const stat = statSync(join(directory, name), { throwIfNoEntry: false })
    return stat !== undefined && stat.mtimeMs / 1000 < nowSeconds - keptSeconds
  })
  for (const name of unused) for (const suffix of ["", "-wal"]) rmSync(join(directory, name + suffix), { force: true })
  return unused
}
