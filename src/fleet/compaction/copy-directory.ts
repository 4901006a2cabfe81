/**
 * A temporary directory for the copy of a compaction. The process holds its lock, which the kernel frees however the process ends, so the next compaction
 * recognises what one has left that was killed, up to a range of 256 MiB.
 */
import { lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import { directoryInUse, lockDirectory } from "../../archive/index.ts"

const PREFIX = "reel-compact-"

/** ms in which the process that has made a directory certainly has its lock. */
const LOCKED_WITHIN_MS = 60_000

interface CopyDirectory {
  readonly path: string
  /** Removes it with all that is in it. */
  [Symbol.dispose](): void
}

/** `nowMs`: since the Unix epoch. @throws ArchiveError */
export const copyDirectory = (temporaryDirectory: string, nowMs: number): CopyDirectory => {
  removeAbandoned(temporaryDirectory, nowMs)
  const directory = mkdtempSync(join(temporaryDirectory, PREFIX))
  const remove = (): void => rmSync(directory, { recursive: true, force: true })
  try {
    const lock = lockDirectory(directory)
    const dispose = (): void => {
      remove()
      lock.release()
    }
    return { path: join(directory, "copy"), [Symbol.dispose]: dispose }
  } catch (error) {
    remove()
    throw error
  }
}

const removeAbandoned = (temporaryDirectory: string, nowMs: number): void => {
  for (const name of readdirSync(temporaryDirectory)) {
    const path = join(temporaryDirectory, name)
    const found = name.startsWith(PREFIX) ? lstatSync(path, { throwIfNoEntry: false }) : undefined
    // A directory for temporary files has those of other users too.
    if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
    if (nowMs - found.mtimeMs < LOCKED_WITHIN_MS || directoryInUse(path) !== undefined) continue
    rmSync(path, { recursive: true, force: true })
  }
}
