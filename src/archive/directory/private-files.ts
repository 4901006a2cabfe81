/**
 * A recording contains whatever the cluster's objects contain, so only its owner may read it: its directory has mode 0700 and its files
 * 0600, whatever the umask. SQLite gives the log and its index the mode of the database.
 *
 * Files of an earlier version, and directories that someone else made, keep their modes, because a mode may have been widened on purpose.
 * They are reported.
 */
import { chmodSync, closeSync, fchmodSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { systemCodeOf } from "./archive-errors.ts"

const privateDirectory = 0o700
const privateFile = 0o600

/** Permissions of the group and of all others. */
const othersMay = 0o077

/** Creates a directory in an existing one; returns false if it exists already. */
export const makePrivateDirectory = (path: string): boolean => {
  try {
    mkdirSync(path, { mode: privateDirectory })
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return false
    throw error
  }
  // The umask may have taken away what the owner needs.
  chmodSync(path, privateDirectory)
  return true
}

/**
 * Creates an empty file unless there is one. An existing file is not even opened: closing a second descriptor would free this process's
 * locks on it (https://www.sqlite.org/howtocorrupt.html §2.2).
 */
export const makePrivateFile = (path: string): void => {
  let descriptor: number
  try {
    descriptor = openSync(path, "wx", privateFile)
  } catch (error) {
    if (systemCodeOf(error) === "EEXIST") return
    throw error
  }
  try {
    fchmodSync(descriptor, privateFile)
  } finally {
    closeSync(descriptor)
  }
}

/** Writes a file or a directory to the disk; a file must not be open in SQLite. @throws what the file system throws */
export const flush = (path: string): void => {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Why users other than the owner have access to the files of a data directory, in one sentence; `undefined` if they cannot. Only what belongs to
 * this user is named: a volume's own directory belongs to someone else, and its mode cannot be changed from here.
 */
export const exposureOf = (directory: string): string | undefined => {
  const user = process.getuid?.()
  if (user === undefined) return undefined
  const isExposed = (path: string): boolean => {
    const found = statSync(path, { throwIfNoEntry: false })
    return found !== undefined && found.uid === user && (found.mode & othersMay) !== 0
  }
  const files = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isFile())
  const exposed = files.map(({ name }) => join(directory, name)).filter(isExposed)
  if (isExposed(directory)) exposed.unshift(directory)
  if (exposed.length === 0) return undefined
  return (
    `other users have access to ${exposed.join(", ")}, and the recording contains everything that the recorded objects contain. ` +
    `Restrict them: chmod go= ${exposed.map(quoted).join(" ")}`
  )
}

/** For a shell. */
const quoted = (path: string): string =>
  /^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
