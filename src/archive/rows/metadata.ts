/** A few facts about a recording as a whole, by key: `clusterUid` (UID of namespace kube-system), `writer`, `recorder` (its settings and states, as JSON) and those that its user adds. */

import { statSync } from "node:fs"
import { join } from "node:path"
import { RedactedSums, type RedactedValues } from "../../kube/offline.ts"
import type { Gap } from "../../wire/index.ts"
import { toArchiveError } from "../directory/archive-errors.ts"
import { type Connection, prepare, rowsOf, type Statement } from "../tables/database.ts"
import { DATABASE_FILE } from "../tables/reading-access.ts"

/** `open` from when a writer opens the recording until it closes it in order; then `closed`, and everything is in the database file. */
export const WRITER_KEY = "writer"

/** Numbers of lives up to this one belong to senders of a recording that was set aside; absent: none was. */
export const INCARNATIONS_KEY = "incarnationsAbove"

/** Names of the recordings that were set aside in the directory and whose gaps this one has, separated by spaces. */
export const SET_ASIDE_KEY = "setAside"

/** How many values were replaced in what is recorded: the text of `RedactedSums`; absent: none, or an earlier version recorded it. */
export const REDACTED_KEY = "redacted"

/** What {@link REDACTED_KEY} says. */
export const redactedIn = (metadata: ReadonlyMap<string, string>): ReadonlyArray<RedactedValues> =>
  new RedactedSums(metadata.get(REDACTED_KEY)).all

/**
 * What is known of a recording that was lost, without its kinds, and that this one follows: the beginning of each kind of its first lists is a gap then.
 * Absent: none was lost.
 */
export const LOST_BEGINNING_KEY = "lostBeginning"

/** Key of the metadata that says when the recorder had all its first lists, µs since the Unix epoch. Absent if it ended before. */
export const FIRST_LISTS_KEY = "firstLists"

/** Key of the metadata with what a recorder keeps of its kinds and their states, as text. */
export const RECORDER_KEY = "recorder"

/** Key of the metadata with the recording's place in a stream, as its archivist keeps it. Absent: it was never archived. */
export const TENURE_KEY = "stream"

/** Key of the metadata: the stream has the blocks up to this sequence number for good. */
export const HELD_AFTER_KEY = "streamHeldAfter"

export interface LostBeginning {
  /** µs since the Unix epoch: the lost recording did not begin before. */
  readonly fromTime: number
  /** One sentence. */
  readonly detail: string
}

/** µs since the Unix epoch: a recording did not begin before its file was made; `undefined`: there is no file. Not every file system knows when that was. */
export const beginningOf = (directory: string): number | undefined => {
  const status = statSync(join(directory, DATABASE_FILE), { throwIfNoEntry: false })
  return status && Math.floor((status.birthtimeMs || status.mtimeMs) * 1000)
}

export const lostBeginningIn = (metadata: { get(key: string): string | undefined }): LostBeginning | undefined => {
  const text = metadata.get(LOST_BEGINNING_KEY)
  return text === undefined ? undefined : (JSON.parse(text) as LostBeginning)
}

/**
 * The gap of a kind whose first list may just have become complete, and whose beginning was in the lost recording. What was added after the first lists was
 * not in it.
 */
export const lostGapOf = (
  metadata: { get(key: string): string | undefined },
  lost: LostBeginning | undefined,
  {
    recordedSince = 0,
    completeThrough = "",
  }: { readonly recordedSince?: number; readonly completeThrough?: string } = {},
): Gap | undefined => {
  if (lost === undefined || recordedSince === 0 || metadata.get(FIRST_LISTS_KEY) !== undefined) return undefined
  const times = { fromTime: Math.min(lost.fromTime, recordedSince), toTime: recordedSince }
  const versions = { fromVersion: "", toVersion: completeThrough, namespace: "" }
  return { ...versions, ...times, reason: "damaged", detail: lost.detail }
}

/** All stored values by key. */
export const readMetadata = (database: Connection): ReadonlyMap<string, string> =>
  new Map(
    rowsOf<{ readonly key: string; readonly value: string }>(database, "SELECT key, value FROM metadata").map(
      ({ key, value }) => [key, value],
    ),
  )

/** The writer's view: every `set` is stored before it returns. */
export class Metadata {
  readonly #directory: string
  readonly #values: Map<string, string>
  readonly #save: Statement<never>

  constructor(database: Connection, directory: string) {
    this.#directory = directory
    this.#values = new Map(readMetadata(database))
    this.#save = prepare(database, "INSERT OR REPLACE INTO metadata (key, value) VALUES (?, ?)")
  }

  get(key: string): string | undefined {
    return this.#values.get(key)
  }

  /** @throws DiskFullError, ArchiveIoError: then the value is as before. */
  set(key: string, value: string): void {
    if (this.#values.get(key) === value) return
    try {
      this.#save.run(key, value)
    } catch (error) {
      throw toArchiveError(this.#directory, "metadata", error)
    }
    this.#values.set(key, value)
  }
}
