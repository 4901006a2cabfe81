/**
 * Removes rows of objects, owners and pods that nothing refers to any more: of what had ended before the beginning of their kind.
 *
 * Everything here is found by walking the tables, so that a process that ends in the middle forgets nothing. A walk yields after each
 * transaction of some ms, between which the writer commits.
 */

import { parseOwnerReferences } from "../../trace/index.ts"
import type { Beginning } from "../rows/beginnings.ts"
import type { UnrecordedOwners } from "../rows/owner-sets.ts"
import { type Connection, numberOf, pagesOf, prepare } from "../tables/database.ts"

/** Rows per transaction. */
const PAGE_ROWS = 1000

type NotedOwners = Pick<UnrecordedOwners, "noteUids" | "endNoting">

/** Removes what the states at a kind's beginning do not know. */
export class DeadRows {
  readonly #transaction: (write: () => void) => void
  readonly #database: Connection
  readonly #statements: ReturnType<typeof statementsOf>
  readonly #unrecorded: NotedOwners
  /** UIDs of owners that were named or looked up since the walk of the objects began, whose rows may be older. */
  #namedSince: ReadonlySet<string> = new Set()

  /** `transaction` runs what writes, in one transaction. */
  constructor(database: Connection, unrecorded: NotedOwners, transaction: (write: () => void) => void) {
    this.#database = database
    this.#unrecorded = unrecorded
    this.#transaction = transaction
    this.#statements = statementsOf(database)
  }

  /** The last owner set now, before the objects are walked. Owners that are named from now on stay, until {@link endNoting}. */
  lastOwnerSet(): number {
    this.#namedSince = this.#unrecorded.noteUids()
    return numberOf(this.#database, "SELECT max(id) AS value FROM owner_set")
  }

  /** Call it when the walk that {@link lastOwnerSet} began is over or given up: what is noted grows with each named owner. */
  endNoting(): void {
    this.#unrecorded.endNoting()
  }

  /**
   * Removes the objects of a kind that ended before its beginning: those that are not alive there, and numbered below one that is.
   * Numbers are given in the order of first events, so a higher one may belong to an object that is still to come. `alive`: numbers in order.
   * Adds the owner sets of the others to `named`.
   */
  *objects(kind: number, alive: Uint32Array, named: Set<number>): Generator<void, void, void> {
    const { objects, deleteObject, deleteFormer } = this.#statements
    const limit = alive.at(-1) ?? 0
    let index = 0
    for (const rows of pagesOf<ObjectRow>(PAGE_ROWS, (last) => objects.all(kind, last?.number ?? 0))) {
      const dead = rows.filter(({ number, owners }) => {
        while ((alive[index] ?? number) < number) index++
        const isDead = number < limit && alive[index] !== number
        if (!isDead) named.add(owners)
        return isDead
      })
      this.#removing(dead, ({ number }) => {
        deleteObject.run(kind, number)
        deleteFormer.run(kind, number)
      })
      yield
    }
  }

  /**
   * Removes the pods that were gone before the beginning of their lifecycles. For the remaining pods, removes lifecycle
   * rows that a later row before the beginning supersedes.
   */
  *pods({ throughSequence, removedThrough }: Beginning): Generator<void, void, void> {
    const { pods, highestPod, deletePod, deleteLives, deleteOldLives } = this.#statements
    // The highest number stays, because the next pod gets the number after it.
    const highest = highestPod.get()?.number
    const page = (last: PodRow | undefined) => pods.all(last?.number ?? 0, throughSequence, removedThrough)
    for (const rows of pagesOf(PAGE_ROWS, page)) {
      this.#removing(rows, ({ number, isGone, firstSequence, lastBefore, last, lastOwners }) => {
        if (lastBefore === null) return
        if (isGone === 1 && last === lastBefore && number !== highest) {
          deletePod.run(number)
          deleteLives.run(number)
        } else deleteOldLives.run(number, lastBefore, firstSequence, lastOwners ?? lastBefore)
      })
      yield
    }
  }

  /**
   * Removes owner sets that no object names: `named` are those that objects name, `last` the last one when that walk began, and from then on
   * no object named an older one anew (`OwnerSets.forget`). Then owners that nothing names.
   */
  *owners(named: Set<number>, last: number): Generator<void, void, void> {
    const { ownerSets, formerOwners, deleteOwnerSet, lifeOwners, owners, deleteOwner } = this.#statements
    for (const former of formerOwners.all()) named.add(former.owners)
    const uids = new Set<string>()
    const note = ({ ownerReferences }: References): void => {
      for (const { uid } of parseOwnerReferences(ownerReferences)) uids.add(uid)
    }
    for (const rows of pagesOf<OwnerSetRow>(PAGE_ROWS, (before) => ownerSets.all(before?.id ?? 0, last))) {
      rows.filter(({ id }) => named.has(id)).forEach(note)
      this.#removing(
        // The last one stays, because the next gets the number after it, and a copy of the recording has this one.
        rows.filter(({ id }) => !named.has(id) && id !== last),
        ({ id }) => deleteOwnerSet.run(id),
      )
      yield
    }
    for (const rows of pagesOf<LifeRow>(PAGE_ROWS, (before) => lifeOwners.all(before?.sequence ?? 0))) {
      rows.forEach(note)
      yield
    }
    const pagesOfOwners = () =>
      pagesOf<OwnerRow>(PAGE_ROWS, (before) => owners.all(before?.uid ?? "", before?.gvk ?? ""))
    for (const rows of pagesOfOwners()) {
      rows.forEach(note)
      yield
    }
    for (const rows of pagesOfOwners()) {
      this.#removing(
        rows.filter(({ uid, state }) => state !== "open" && !uids.has(uid) && !this.#namedSince.has(uid)),
        ({ uid, gvk }) => deleteOwner.run(uid, gvk),
      )
      yield
    }
  }

  /** In one transaction, if there are any. */
  #removing<Row>(rows: ReadonlyArray<Row>, remove: (row: Row) => void): void {
    if (rows.length > 0) this.#transaction(() => rows.forEach(remove))
  }
}

interface ObjectRow {
  readonly number: number
  readonly owners: number
}

interface PodRow {
  readonly number: number
  readonly isGone: number
  readonly firstSequence: number
  /** Of its lives: the last one, the last before the beginning, and the last of those that names owners. */
  readonly last: number | null
  readonly lastBefore: number | null
  readonly lastOwners: number | null
}

interface References {
  readonly ownerReferences: string
}

interface OwnerSetRow extends References {
  readonly id: number
}

interface LifeRow extends References {
  readonly sequence: number
}

interface OwnerRow extends References {
  readonly uid: string
  readonly gvk: string
  readonly state: string
}

const statementsOf = (database: Connection) => {
  const page = `LIMIT ${PAGE_ROWS}`
  const references = "owner_references AS ownerReferences"
  const before = "FROM pod_life WHERE pod = number AND sequence <= ?2 AND time <= ?3 AND received <= ?3"
  const remove = (condition: string) => prepare(database, `DELETE FROM ${condition}`)
  return {
    objects: prepare<ObjectRow>(
      database,
      `SELECT number, owners FROM object WHERE kind = ? AND number > ? ORDER BY number ${page}`,
    ),
    pods: prepare<PodRow>(
      database,
      `SELECT number, is_gone AS isGone, first_sequence AS firstSequence,
        (SELECT max(sequence) ${before}) AS lastBefore,
        (SELECT max(sequence) FROM pod_life WHERE pod = number) AS last,
        (SELECT max(sequence) ${before} AND owner_references IS NOT NULL) AS lastOwners
      FROM pod WHERE number > ?1 ORDER BY number ${page}`,
    ),
    highestPod: prepare<Pick<PodRow, "number">>(database, "SELECT max(number) AS number FROM pod"),
    ownerSets: prepare<OwnerSetRow>(
      database,
      `SELECT id, ${references} FROM owner_set WHERE id > ? AND id <= ? ORDER BY id ${page}`,
    ),
    formerOwners: prepare<Pick<ObjectRow, "owners">>(database, "SELECT DISTINCT owners FROM former_owner_set"),
    lifeOwners: prepare<LifeRow>(
      database,
      `SELECT sequence, ${references} FROM pod_life WHERE sequence > ? AND owner_references IS NOT NULL ORDER BY sequence ${page}`,
    ),
    owners: prepare<OwnerRow>(
      database,
      `SELECT uid, gvk, ${references}, state FROM owner WHERE (uid, gvk) > (?, ?) ORDER BY uid, gvk ${page}`,
    ),
    deleteObject: remove("object WHERE kind = ? AND number = ?"),
    deleteFormer: remove("former_owner_set WHERE kind = ? AND number = ?"),
    deletePod: remove("pod WHERE number = ?"),
    deleteLives: remove("pod_life WHERE pod = ?"),
    deleteOldLives: remove("pod_life WHERE pod = ? AND sequence < ? AND sequence NOT IN (?, ?)"),
    deleteOwnerSet: remove("owner_set WHERE id = ?"),
    deleteOwner: remove("owner WHERE uid = ? AND gvk = ?"),
  }
}
