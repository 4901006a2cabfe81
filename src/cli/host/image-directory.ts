/**
 * The directory of a host for the memory of unloaded modules: below the system's directory for temporary files, removed at the end, and by the
 * next host of the same user if this one was killed.
 *
 * Guaranteed: the directory of a living host is never removed by another one. Its lock is SQLite's, which the system frees with the process in
 * whatever way that ends; a process number would be a living stranger's after a while, or, in containers that share the directory, always 1.
 */
import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { basename, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { messageOf } from "../../message-of.ts"

const prefix = "kubereel-host-"
const lockFile = "lock"
/** SQLITE_BUSY and SQLITE_CANTOPEN. */
const [busy, absent] = [5, 14]

/**
 * A new directory in `temporary`, which exists, for this process alone; what killed hosts have left there is removed first. `trouble` gets why something
 * cannot be removed. Keep what is returned: its lock is freed when it is collected.
 *
 * @throws the error of the file system, if none can be made.
 */
export const openImageDirectory = (
  temporary: string,
  trouble: (detail: string) => void,
): Disposable & { readonly path: string } => {
  removeAbandoned(temporary, trouble)
  // It gets the name by which others find it when it has its lock, so that none takes it for abandoned before.
  const draft = mkdtempSync(join(temporary, `.${prefix}`))
  const path = join(temporary, basename(draft).slice(1))
  const lock = locked(join(draft, lockFile), "rwc")
  renameSync(draft, path)
  return {
    path,
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true })
      lock.close()
    },
  }
}

const removeAbandoned = (temporary: string, trouble: (detail: string) => void): void => {
  for (const name of readdirSync(temporary)) {
    if (!name.startsWith(prefix)) continue
    const path = join(temporary, name)
    try {
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (found === undefined || !found.isDirectory() || found.uid !== process.getuid?.()) continue
      const lock = locked(join(path, lockFile), "rw")
      rmSync(path, { recursive: true, force: true })
      lock.close()
    } catch (cause) {
      // Of a living host, or another one that starts has just removed it.
      if (cause instanceof Error && "errcode" in cause && (cause.errcode === busy || cause.errcode === absent)) continue
      trouble(`${path}, which a killed host has left, cannot be removed: ${messageOf(cause)}`)
    }
  }
}

/** Throws if another process, or this one, has it; with `rw` also if there is no such file. */
const locked = (path: string, mode: "rw" | "rwc"): DatabaseSync => {
  const file = pathToFileURL(path)
  file.searchParams.set("mode", mode)
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    lock.exec("BEGIN EXCLUSIVE")
    return lock
  } catch (cause) {
    lock.close()
    throw cause
  }
}
