/**
 * The writer's table of pods: takes lifecycle records into memory, stores them in the commit's transaction, and lists the existing pods for
 * the next pod watcher.
 *
 * Numbers belong to the recording, not to a kind: a lifecycle that began under one watcher continues under the next.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { EventTimes } from "../../trace/event.ts"
import { type OwnerReference, parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import type { Observations, PodLife } from "../../wire/observations.ts"
import { toArchiveError } from "../directory/archive-errors.ts"
import { requireSoundTables } from "../tables/sound-rows.ts"

/** A pod that has been seen running and is not known to be deleted. Start and end are whole seconds since the Unix epoch. */
export interface LivingPod {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly start: number
  /** Its containers have ended, but may start again; `undefined` while it runs. */
  readonly end: number | undefined
  /** Whether it was ever seen with an owner. */
  readonly owned: boolean
}

/** Pods per batch: about what one message between workers may carry. */
const BATCH_PODS = 1024

/** The writer's view of the tables `pod` and `pod_life`. */
export class PodTable {
  readonly #insertPod: StatementSync
  readonly #insertLife: StatementSync
  readonly #markGone: StatementSync
  readonly #living: StatementSync
  #pending: Array<readonly [sequence: number, life: PodLife]> = []
  #nextNumber: number

  constructor(database: DatabaseSync) {
    this.#insertPod = database.prepare(`
      INSERT OR IGNORE INTO pod (number, uid, namespace, name, spec_hash, first_sequence, is_gone)
      VALUES (?, ?, ?, ?, ?, ?, 0)`)
    this.#insertLife = database.prepare(`
      INSERT INTO pod_life (sequence, pod, start_seconds, end_seconds, is_gone, time, received, owner_references)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    this.#markGone = database.prepare("UPDATE pod SET is_gone = 1 WHERE number = ?")
    this.#living = database.prepare(`
      SELECT number, uid, namespace, start_seconds, end_seconds,
        EXISTS (SELECT 1 FROM pod_life WHERE pod = pod.number AND owner_references IS NOT NULL) AS owned
      FROM pod JOIN pod_life
        ON sequence = (SELECT max(sequence) FROM pod_life WHERE pod = pod.number)
      WHERE pod.is_gone = 0 AND number > ? ORDER BY number LIMIT ${BATCH_PODS}`)
    this.#nextNumber = Number(database.prepare("SELECT coalesce(max(number), 0) AS last FROM pod").get()?.last) + 1
  }

  /** Number for the next pod that is first seen to run; starts at 1. */
  get nextNumber(): number {
    return this.#nextNumber
  }

  /** Records that wait for a commit. */
  get pending(): number {
    return this.#pending.length
  }

  /** The number of a pod that a frame refers to without having introduced it; `undefined` if there is none. */
  unknownIn(frame: Observations): number | undefined {
    let next = this.#nextNumber
    for (let index = 0; index < frame.podLifeCount; index++) {
      const { pod, identity } = frame.podLife(index)
      if (identity !== undefined) next = Math.max(next, pod + 1)
      else if (pod >= next) return pod
    }
    return undefined
  }

  /** Adds a record; its bytes are copied. */
  add(sequence: number, life: PodLife): void {
    const { ownerReferences } = life
    const copy = ownerReferences === undefined ? life : { ...life, ownerReferences: Uint8Array.from(ownerReferences) }
    this.#pending.push([sequence, copy])
    if (life.identity !== undefined) this.#nextNumber = Math.max(this.#nextNumber, life.pod + 1)
  }

  /** Inside the commit's transaction. */
  save(): void {
    for (const [sequence, life] of this.#pending) {
      const { pod, time, received = time, start, end, gone, identity, ownerReferences } = life
      if (identity !== undefined) {
        const { uid, namespace, name, specHash } = identity
        this.#insertPod.run(pod, uid, namespace, name, BigInt.asIntN(64, specHash), sequence)
      }
      const owners = ownerReferences === undefined ? null : Buffer.from(ownerReferences).toString("utf8")
      this.#insertLife.run(sequence, pod, start, end ?? null, gone ? 1 : 0, time, received, owners)
      if (gone) this.#markGone.run(pod)
    }
  }

  /** After the commit. */
  markSaved(): void {
    this.#pending = []
  }

  /** Pods that exist as of the last commit, in batches ordered by number. */
  *living(): Generator<ReadonlyArray<LivingPod>, void, void> {
    for (let after = 0; ; ) {
      const pods = this.#living.all(after).map((row) => ({
        number: Number(row.number),
        uid: String(row.uid),
        namespace: String(row.namespace),
        start: Number(row.start_seconds),
        end: row.end_seconds === null ? undefined : Number(row.end_seconds),
        owned: row.owned === 1,
      }))
      if (pods.length > 0) yield pods
      const last = pods.at(-1)
      if (last === undefined || pods.length < BATCH_PODS) return
      after = last.number
    }
  }
}

// Pod lifecycles on disk: one row per pod that was ever seen to run, and one row per change of its lifecycle.
//
// A change has a sequence number, as a gap does, so a cut includes it, and what precedes a cut never changes: state and owners are those of
// the last row at or before it. So are those at a moment, whenever it is asked for.

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
