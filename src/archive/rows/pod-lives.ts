/**
 * Pod lifecycles on disk: one row per pod that was ever seen to run, and one row per change of its lifecycle.
 *
 * A change has a sequence number, as a gap does, so a cut includes it, and what precedes a cut never changes: state and owners are those of
 * the last row at or before it. So are those at a moment, whenever it is asked for.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { EventTimes } from "../../trace/event.ts"
import { type OwnerReference, parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import { toArchiveError } from "../archive-errors.ts"
import { requireSoundTables } from "../soundness/sound-rows.ts"

/** The lifecycle of one pod as of a cut and a moment. Start and end are whole seconds since the Unix epoch. */
export interface RecordedPodLife {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  /** H of the stable pod spec (docs/facts/simkube.md#pod-lifecycles), an unsigned 64-bit integer. */
  readonly specHash: bigint
  readonly start: number
  /** `undefined` while it runs; never before `start`. */
  readonly end: number | undefined
  /** Position of its first record: lifecycles are ordered by it. */
  readonly firstSequence: number
}

/** The lifecycles to read. */
export interface PodLifeSelection {
  /** Last sequence number to read. */
  readonly cut: number
  /** µs since the Unix epoch: what happened at or after this moment is not read. Default: all is. */
  readonly untilTime?: number
  /** The times of that moment. Default: when changes happened. */
  readonly times?: EventTimes
}

/** Rows per fetch: each page is its own short transaction. */
const PAGE_ROWS = 256

/**
 * The lifecycles of all pods up to a cut, each UID once, in the order in which they were first seen to run. Streamed: memory is one page.
 *
 * @throws ArchiveIoError, CorruptArchiveError
 */
export function* readPodLives(
  database: DatabaseSync,
  directory: string,
  { cut, untilTime = Number.MAX_SAFE_INTEGER, times = "happened" }: PodLifeSelection,
): Generator<RecordedPodLife, void, void> {
  const reading = <Answer>(read: () => Answer): Answer => {
    try {
      return read()
    } catch (error) {
      throw toArchiveError(directory, "read", error)
    }
  }
  reading(() => requireSoundTables(database, directory, ["pod", "pod_life"]))
  const time = times === "received" ? "received" : "time"
  // A UID has a second number only if a restored cluster brought a deleted pod back: then the later lifecycle counts.
  const page: StatementSync = reading(() =>
    database.prepare(`
      SELECT pod.number AS number, pod.uid AS uid, pod.namespace AS namespace, pod.name AS name,
        CAST(pod.spec_hash AS TEXT) AS spec_hash, pod.first_sequence AS first_sequence,
        life.start_seconds AS start_seconds, life.end_seconds AS end_seconds,
        (SELECT owner_references FROM pod_life AS given
          WHERE given.pod = pod.number AND given.sequence <= ?1 AND given.${time} < ?3
            AND given.owner_references IS NOT NULL
          ORDER BY given.sequence DESC LIMIT 1) AS owner_references
      FROM pod JOIN pod_life AS life
        ON life.sequence =
          (SELECT max(sequence) FROM pod_life WHERE pod = pod.number AND sequence <= ?1 AND ${time} < ?3)
      WHERE pod.number > ?2 AND pod.first_sequence <= ?1 AND NOT EXISTS (
        SELECT 1 FROM pod AS later JOIN pod_life AS first ON first.sequence = later.first_sequence
        WHERE later.uid = pod.uid AND later.number > pod.number AND first.sequence <= ?1 AND first.${time} < ?3)
      ORDER BY pod.number LIMIT ${PAGE_ROWS}`),
  )
  for (let after = 0; ; ) {
    const rows = reading(() => page.all(cut, after, untilTime))
    for (const row of rows) {
      yield {
        uid: String(row.uid),
        namespace: String(row.namespace),
        name: String(row.name),
        ownerReferences: parseOwnerReferences(String(row.owner_references ?? "")),
        specHash: BigInt.asUintN(64, BigInt(String(row.spec_hash))),
        start: Number(row.start_seconds),
        end: row.end_seconds === null ? undefined : Number(row.end_seconds),
        firstSequence: Number(row.first_sequence),
      }
      after = Number(row.number)
    }
    if (rows.length < PAGE_ROWS) return
  }
}
