/**
 * Removes rows of objects, owners and pods that nothing refers to any more: of what had ended before the beginning of their kind.
 *
 * Everything here is found by walking the tables, so that a process that ends in the middle forgets nothing. A walk yields after each
 * transaction of some ms, between which the writer commits.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import type { Beginning } from "../rows/beginnings.ts"

/** Rows per transaction. */
const PAGE_ROWS = 1000

/** Removes what the states at a kind's beginning do not know. */
export class DeadRows {
  readonly #transaction: (write: () => void) => void
  readonly #objects: StatementSync
  readonly #deleteObject: StatementSync
  readonly #deleteFormer: StatementSync
  readonly #pods: StatementSync
  readonly #deletePod: StatementSync
  readonly #deleteLives: StatementSync
  readonly #deleteOldLives: StatementSync
  readonly #ownerSets: StatementSync
  readonly #lastOwnerSet: StatementSync
  readonly #formerOwners: StatementSync
  readonly #deleteOwnerSet: StatementSync
  readonly #lifeOwners: StatementSync
  readonly #owners: StatementSync
  readonly #deleteOwner: StatementSync

  /** `transaction` runs what writes, in one transaction. */
  constructor(database: DatabaseSync, transaction: (write: () => void) => void) {
    this.#transaction = transaction
    const page = `LIMIT ${PAGE_ROWS}`
    this.#objects = database.prepare(
      `SELECT number, owners FROM object WHERE kind = ? AND number > ? ORDER BY number ${page}`,
    )
    this.#deleteObject = database.prepare("DELETE FROM object WHERE kind = ? AND number = ?")
    this.#deleteFormer = database.prepare("DELETE FROM former_owner_set WHERE kind = ? AND number = ?")
    this.#pods = database.prepare(`
      SELECT number, is_gone, first_sequence,
        (SELECT max(sequence) FROM pod_life WHERE pod = number AND sequence <= ?2 AND time <= ?3 AND received <= ?3) AS last_before,
        (SELECT max(sequence) FROM pod_life WHERE pod = number) AS last,
        (SELECT max(sequence) FROM pod_life WHERE pod = number AND sequence <= ?2 AND time <= ?3 AND received <= ?3
          AND owner_references IS NOT NULL) AS last_owners
      FROM pod WHERE number > ?1 ORDER BY number ${page}`)
    this.#deletePod = database.prepare("DELETE FROM pod WHERE number = ?")
    this.#deleteLives = database.prepare("DELETE FROM pod_life WHERE pod = ?")
    this.#deleteOldLives = database.prepare(
      "DELETE FROM pod_life WHERE pod = ? AND sequence < ? AND sequence NOT IN (?, ?)",
    )
    this.#ownerSets = database.prepare(
      `SELECT id, owner_references FROM owner_set WHERE id > ? AND id <= ? ORDER BY id ${page}`,
    )
    this.#lastOwnerSet = database.prepare("SELECT coalesce(max(id), 0) AS last FROM owner_set")
    this.#formerOwners = database.prepare("SELECT DISTINCT owners FROM former_owner_set")
    this.#deleteOwnerSet = database.prepare("DELETE FROM owner_set WHERE id = ?")
    this.#lifeOwners = database.prepare(`
      SELECT sequence, owner_references FROM pod_life WHERE sequence > ? AND owner_references IS NOT NULL ORDER BY sequence ${page}`)
    this.#owners = database.prepare(
      `SELECT uid, gvk, owner_references, state FROM owner WHERE (uid, gvk) > (?, ?) ORDER BY uid, gvk ${page}`,
    )
    this.#deleteOwner = database.prepare("DELETE FROM owner WHERE uid = ? AND gvk = ?")
  }

  /**
   * Removes the objects of a kind that ended before its beginning: those that are not alive there, and numbered below one that is.
   * Numbers are given in the order of first events, so a higher one may belong to an object that is still to come. `alive`: numbers in order.
   * Adds the owner sets of the others to `named`.
   */
  *objects(kind: number, alive: Uint32Array, named: Set<number>): Generator<void, void, void> {
    const limit = alive.at(-1) ?? 0
    let index = 0
    for (let after = 0; ; ) {
      const rows = this.#objects.all(kind, after)
      const dead = rows.filter(({ number, owners }) => {
        while (index < alive.length && (alive[index] as number) < (number as number)) index++
        const isDead = (number as number) < limit && alive[index] !== number
        if (!isDead) named.add(owners as number)
        return isDead
      })
      if (dead.length > 0)
        this.#transaction(() => {
          for (const { number } of dead) {
            this.#deleteObject.run(kind, number as number)
            this.#deleteFormer.run(kind, number as number)
          }
        })
      yield
      if (rows.length < PAGE_ROWS) return
      after = rows.at(-1)?.number as number
    }
  }

  /** Removes the pods that were gone before the beginning of their lifecycles, and what earlier states there were of the others. */
  *pods({ throughSequence, removedThrough }: Beginning): Generator<void, void, void> {
    for (let after = 0; ; ) {
      const rows = this.#pods.all(after, throughSequence, removedThrough)
      this.#transaction(() => {
        // The highest number stays, because the next pod gets the number after it.
        rows.forEach(({ number, is_gone, first_sequence, last_before, last, last_owners }, at) => {
          if (last_before === null) return
          const isHighest = rows.length < PAGE_ROWS && at === rows.length - 1
          if (is_gone === 1 && last === last_before && !isHighest) {
            this.#deletePod.run(number as number)
            this.#deleteLives.run(number as number)
          } else
            this.#deleteOldLives.run(...[number, last_before, first_sequence, last_owners ?? last_before].map(Number))
        })
      })
      yield
      if (rows.length < PAGE_ROWS) return
      after = rows.at(-1)?.number as number
    }
  }

  /**
   * Removes owner sets that no object names: `named` are those that objects name, `last` the last one when that walk began, and from then on
   * no object named an older one anew (`OwnerSets.forget`). Then owners that nothing names.
   */
  *owners(named: Set<number>, last: number): Generator<void, void, void> {
    for (const { owners } of this.#formerOwners.all()) named.add(owners as number)
    const uids = new Set<string>()
    const note = (references: unknown): void => {
      for (const { uid } of parseOwnerReferences(String(references))) uids.add(uid)
    }
    for (let after = 0; ; ) {
      const rows = this.#ownerSets.all(after, last)
      const unnamed = rows.filter(({ id }) => !named.has(id as number))
      for (const { id, owner_references } of rows) if (named.has(id as number)) note(owner_references)
      if (unnamed.length > 0)
        this.#transaction(() => {
          for (const { id } of unnamed) this.#deleteOwnerSet.run(id as number)
        })
      yield
      if (rows.length < PAGE_ROWS) break
      after = rows.at(-1)?.id as number
    }
    for (let after = 0; ; ) {
      const rows = this.#lifeOwners.all(after)
      for (const { owner_references } of rows) note(owner_references)
      yield
      if (rows.length < PAGE_ROWS) break
      after = rows.at(-1)?.sequence as number
    }
    for (const rows of this.#pagesOfOwners()) {
      for (const { owner_references } of rows) note(owner_references)
      yield
    }
    for (const rows of this.#pagesOfOwners()) {
      // Sets that were named while this walked; they are few.
      for (const { id, owner_references } of this.#ownerSets.all(last, Number.MAX_SAFE_INTEGER)) {
        last = id as number
        note(owner_references)
      }
      const unnamed = rows.filter(({ uid, state }) => state !== "open" && !uids.has(String(uid)))
      if (unnamed.length > 0)
        this.#transaction(() => {
          for (const { uid, gvk } of unnamed) this.#deleteOwner.run(String(uid), String(gvk))
        })
      yield
    }
  }

  *#pagesOfOwners(): Generator<ReadonlyArray<Record<string, unknown>>, void, void> {
    for (let after: readonly [uid: string, gvk: string] = ["", ""]; ; ) {
      const rows = this.#owners.all(...after)
      yield rows
      const end = rows.at(-1)
      if (end === undefined || rows.length < PAGE_ROWS) return
      after = [String(end.uid), String(end.gvk)]
    }
  }

  /** The last owner set now. */
  lastOwnerSet(): number {
    return Number(this.#lastOwnerSet.get()?.last)
  }
}
