/**
 * The writer's table of pods: takes lifecycle records into memory, stores them in the commit's transaction, and lists the existing pods for
 * the next pod watcher.
 *
 * Numbers belong to the recording, not to a kind: a lifecycle that began under one watcher continues under the next.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { Observations, PodLife } from "../../wire/observations.ts"

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
