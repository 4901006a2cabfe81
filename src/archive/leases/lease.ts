/**
 * A lease keeps retention from removing what someone is reading.
 *
 * ```ts
 * using lease = takeLease(directory, { fromTime, purpose: "history of deploy/web" })
 * const reader = ArchiveReader.open(directory)   // after the lease, never before it
 * ```
 *
 * Guaranteed: while the lease is held and renewed, everything that a window from `fromTime` on needs stays as it is, with the state at its start.
 * Retention looks for leases immediately before it moves the beginning of a recording; a lease that comes in that very moment is too
 * late, and its reader gets RetentionOutranError, as does one without a lease. Neither ever reads wrong data.
 *
 * A lease is a file in the directory `leases` of the recording, whatever process or thread holds it, so that a recorder sees the leases of
 * all readers and people see who holds one (`reel store info`). Its holder renews it every {@link renewMs}; one that was not renewed for {@link expiryMs}
 * has lost its holder and counts no more. Why not locks of the kernel: Node has none that a thread can hold alone, and threads of one process
 * share POSIX locks.
 *
 * Nothing is written where no recorder has made that directory, as in a copy of `recording.db`, or where this user may not: then there is no lease, and
 * `isHeld` says so. Leases are rare (one for each export or query), so everything here is synchronous.
 */
import { randomUUID } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { join } from "node:path"
import { backgroundClock, type Clock, type Timer } from "../../clock.ts"
import { isRecord } from "../../is-record.ts"
import { systemCodeOf } from "../directory/archive-errors.ts"
import { makePrivateDirectory, makePrivateFile } from "../directory/private-files.ts"

/** Directory of the leases in a data directory. Its writer makes it. */
export const LEASES = "leases"

/** ms between two renewals. */
export const renewMs = 5000

/** ms without a renewal after which a lease counts no more: an export whose thread is busy, or paused for some seconds, keeps its own. */
export const expiryMs = 30_000

/** What is to be kept. */
interface LeaseRequest {
  /** µs since the Unix epoch: the start of the earliest window to be read. 0: the whole recording, as it is now. */
  readonly fromTime: number
  /** For people: `export of 03:00..04:00`. */
  readonly purpose: string
}

export interface Lease {
  /** False: the recording has no directory of leases, or nothing may be written there. */
  readonly isHeld: boolean
  /** Calling it again has no effect. */
  release(): void
  [Symbol.dispose](): void
}

/** A lease as others see it. */
export interface HeldLease extends LeaseRequest {
  readonly host: string
  readonly pid: number
  /** ISO 8601. */
  readonly since: string
}

/** Makes the directory of the leases, for the writer of a recording. */
export const makeLeases = (directory: string): void => {
  makePrivateDirectory(join(directory, LEASES))
}

/** Takes a lease that is renewed until it is released or the process ends. Never throws. */
export const takeLease = (
  directory: string,
  { fromTime, purpose }: LeaseRequest,
  clock: Clock = backgroundClock,
): Lease => {
  const id = randomUUID()
  const path = join(directory, LEASES, `${id}.json`)
  const draft = join(directory, LEASES, `${id}.new`)
  const since = new Date(clock.wallMicros() / 1000)
  const content: HeldLease = {
    ...{ fromTime, purpose },
    ...{ host: hostname(), pid: process.pid, since: since.toISOString() },
  }
  const isHeld = ignoringTrouble(() => {
    makePrivateFile(draft)
    writeFileSync(draft, `${JSON.stringify(content)}\n`)
    utimesSync(draft, since, since)
    renameSync(draft, path)
  })
  let timer: Timer | undefined
  const renewLater = (): void => {
    timer = clock.after(renewMs, () => {
      const now = new Date(clock.wallMicros() / 1000)
      // A file that was removed is a lease that has expired: it must not come back.
      if (ignoringTrouble(() => utimesSync(path, now, now))) renewLater()
    })
  }
  if (isHeld) renewLater()
  const release = (): void => {
    timer?.cancel()
    timer = undefined
    for (const left of [draft, path]) ignoringTrouble(() => rmSync(left, { force: true }))
  }
  return { isHeld, release, [Symbol.dispose]: release }
}

/**
 * The leases of a recording that count now, the oldest first.
 *
 * @throws what the file system throws, other than that there are none
 */
export const heldLeases = (directory: string, nowMicros: number): ReadonlyArray<HeldLease> =>
  filesOf(directory)
    .filter(({ modifiedMs }) => nowMicros / 1000 - modifiedMs < expiryMs)
    .flatMap(({ path }) => readLease(path) ?? [])
    .sort((one, other) => one.since.localeCompare(other.since))

/** Removes what holders that died have left. For the writer. @throws what the file system throws */
export const removeExpiredLeases = (directory: string, nowMicros: number): void => {
  for (const { path, modifiedMs } of filesOf(directory))
    if (nowMicros / 1000 - modifiedMs >= expiryMs) rmSync(path, { force: true })
}

const filesOf = (directory: string): ReadonlyArray<{ readonly path: string; readonly modifiedMs: number }> => {
  const leases = join(directory, LEASES)
  if (!existsSync(leases)) return []
  return readdirSync(leases).flatMap((name) => {
    const path = join(leases, name)
    const found = statSync(path, { throwIfNoEntry: false })
    return found === undefined ? [] : [{ path, modifiedMs: found.mtimeMs }]
  })
}

/**
 * A lease of which only the file's time can be read keeps everything: the process that wrote it reads something.
 * `undefined`: it is a draft, or gone.
 */
const readLease = (path: string): HeldLease | undefined => {
  if (!path.endsWith(".json")) return undefined
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, "utf8"))
  } catch (error) {
    if (systemCodeOf(error) === "ENOENT") return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  const fields: Readonly<Record<string, unknown>> = isRecord(content) ? content : {}
  const text = (name: string): string => (typeof fields[name] === "string" ? fields[name] : "unknown")
  const number = (name: string): number => (typeof fields[name] === "number" ? fields[name] : 0)
  return {
    ...{ fromTime: number("fromTime"), purpose: text("purpose") },
    ...{ host: text("host"), pid: number("pid"), since: text("since") },
  }
}

/** Whether nothing failed. What fails here is the file system, and then there is no lease. */
const ignoringTrouble = (action: () => void): boolean => {
  try {
    action()
    return true
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error
    return false
  }
}
