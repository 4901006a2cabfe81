/**
 * The writer's table of pods: takes lifecycle records into memory, stores them in the commit's transaction, and lists the existing pods for
 * the next pod watcher.
 *
 * Numbers belong to the recording, not to a kind: a lifecycle that began under one watcher continues under the next.
 */

import { type EventTimes, type OwnerReference, parseOwnerReferences } from "../../trace/index.ts"
import type { Observations, PodLife } from "../../wire/index.ts"
import { reading } from "../directory/archive-errors.ts"
import { type Connection, numberOf, pagesOf, prepare, type Statement } from "../tables/database.ts"
import { requireSoundTables } from "../tables/sound-rows.ts"
import { rowWriter } from "../tables/tables.ts"

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

interface LivingRow extends Omit<LivingPod, "end" | "owned"> {
  readonly end: number | null
  readonly owned: number
}

/** The writer's view of the tables `pod` and `pod_life`. */
export class PodTable {
  readonly #insertPod: (row: Readonly<Record<string, unknown>>) => void
  readonly #insertLife: (row: Readonly<Record<string, unknown>>) => void
  readonly #markGone: Statement<never>
  readonly #living: Statement<LivingRow>
  #pending: Array<readonly [sequence: number, life: PodLife]> = []
  #nextNumber: number

  constructor(database: Connection) {
    this.#insertPod = rowWriter(database, "pod", { or: "IGNORE" })
    this.#insertLife = rowWriter(database, "pod_life")
    this.#markGone = prepare(database, "UPDATE pod SET is_gone = 1 WHERE number = ?")
    this.#living = prepare(
      database,
      `SELECT number, uid, namespace, start_seconds AS start, end_seconds AS end,
        EXISTS (SELECT 1 FROM pod_life WHERE pod = pod.number AND owner_references IS NOT NULL) AS owned
      FROM pod JOIN pod_life
        ON sequence = (SELECT max(sequence) FROM pod_life WHERE pod = pod.number)
      WHERE pod.is_gone = 0 AND number > ? ORDER BY number LIMIT ${BATCH_PODS}`,
    )
    this.#nextNumber = numberOf(database, "SELECT max(number) AS value FROM pod") + 1
  }

  /** Number for the next pod that is first seen to run; starts at 1. */
  get nextNumber(): number {
    return this.#nextNumber
  }

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

  save(): void {
    for (const [sequence, life] of this.#pending) {
      const { pod, time, received = time, start, end, gone, identity, ownerReferences } = life
      if (identity !== undefined)
        this.#insertPod({
          ...{
            ...identity,
            number: pod,
            specHash: BigInt.asIntN(64, identity.specHash),
            firstSequence: sequence,
            isGone: 0,
          },
        })
      const owners = ownerReferences === undefined ? null : Buffer.from(ownerReferences).toString("utf8")
      this.#insertLife({
        ...{ sequence, pod, startSeconds: start, endSeconds: end ?? null, isGone: gone ? 1 : 0 },
        ...{ time, received, ownerReferences: owners },
      })
      if (gone) this.#markGone.run(pod)
    }
  }

  markSaved(): void {
    this.#pending = []
  }

  *living(): Generator<ReadonlyArray<LivingPod>, void, void> {
    for (const rows of pagesOf<LivingRow>(BATCH_PODS, (last) => this.#living.all(last?.number ?? 0)))
      if (rows.length > 0) yield rows.map((row) => ({ ...row, end: row.end ?? undefined, owned: row.owned === 1 }))
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
  database: Connection,
  directory: string,
  { cut, untilTime = Number.MAX_SAFE_INTEGER, times = "happened" }: PodLifeSelection,
): Generator<RecordedPodLife, void, void> {
  reading(directory, () => requireSoundTables(database, directory, ["pod", "pod_life"]))
  const time = times === "received" ? "received" : "time"
  // A UID has a second number only if a restored cluster brought a deleted pod back: then the later lifecycle counts.
  const page = reading(directory, () =>
    prepare<PodLifeRow>(
      database,
      `SELECT pod.number AS number, pod.uid AS uid, pod.namespace AS namespace, pod.name AS name,
        CAST(pod.spec_hash AS TEXT) AS specHash, pod.first_sequence AS firstSequence,
        life.start_seconds AS start, life.end_seconds AS end,
        (SELECT owner_references FROM pod_life AS given
          WHERE given.pod = pod.number AND given.sequence <= ?1 AND given.${time} < ?3
            AND given.owner_references IS NOT NULL
          ORDER BY given.sequence DESC LIMIT 1) AS ownerReferences
      FROM pod JOIN pod_life AS life
        ON life.sequence =
          (SELECT max(sequence) FROM pod_life WHERE pod = pod.number AND sequence <= ?1 AND ${time} < ?3)
      WHERE pod.number > ?2 AND pod.first_sequence <= ?1 AND NOT EXISTS (
        SELECT 1 FROM pod AS later JOIN pod_life AS first ON first.sequence = later.first_sequence
        WHERE later.uid = pod.uid AND later.number > pod.number AND first.sequence <= ?1 AND first.${time} < ?3)
      ORDER BY pod.number LIMIT ${PAGE_ROWS}`,
    ),
  )
  const fetch = (last: PodLifeRow | undefined) => reading(directory, () => page.all(cut, last?.number ?? 0, untilTime))
  for (const rows of pagesOf(PAGE_ROWS, fetch))
    for (const { number: _, ownerReferences, specHash, end, ...row } of rows)
      yield {
        ...{ ...row, ownerReferences: parseOwnerReferences(ownerReferences ?? "") },
        ...{ specHash: BigInt.asUintN(64, BigInt(specHash)), end: end ?? undefined },
      }
}

interface PodLifeRow extends Pick<RecordedPodLife, "uid" | "namespace" | "name" | "start" | "firstSequence"> {
  readonly number: number
  readonly specHash: string
  readonly end: number | null
  readonly ownerReferences: string | null
}
