/**
 * The owners of an object according to the recording: as last read in the object itself, in a pod lifecycle, or in a response of the API
 * server. At a moment they are those that were known then, whenever one asks; those that became known first, if none were.
 *
 * UIDs of recorded objects have no index on disk (tables.ts says why). Only owners are ever looked up, and they are of few kinds: the first
 * look-up of a kind reads its objects' names into memory, some 100 bytes each.
 */

import {
  type EventTimes,
  groupKindOf,
  gvkOfReference,
  type OwnerReference,
  parseOwnerReferences,
  podKind,
} from "../../trace/index.ts"
import { reading } from "../directory/archive-errors.ts"
import { type Connection, prepare, type Statement } from "../tables/database.ts"
import { requireSoundTables } from "../tables/sound-rows.ts"
import type { KindKey } from "./kind-table.ts"

/** What is known of one object's owners. */
export interface OwnerEdge {
  /** The kind under which it is recorded, in any version of the kind; `undefined` if it is not recorded. */
  readonly gvk: string | undefined
  /** The empty string for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
  /** Empty if it has none, or if it is gone. */
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  /**
   * `recorded`: read in an object of the recording, which takes precedence. `learnt`: read from the API server because the object is not
   * recorded. `gone`: the server had no object of that name with that UID.
   */
  readonly source: "recorded" | "learnt" | "gone"
}

/** An object that had other owners from a moment on. */
export interface OwnerChange {
  /** µs since the Unix epoch. */
  readonly time: number
  readonly gvk: string
  readonly uid: string
}

/** What the look-ups below read. */
const OWNER_TABLES = ["object", "owner", "owner_set", "former_owner_set", "pod", "pod_life"]

/** Looks owners up through one database connection, also while the recording is being written. */
export class KnownOwners {
  readonly #directory: string
  readonly #database: Connection
  #isChecked = false
  readonly #kind: Statement<KindKey>
  readonly #uids: Statement<{ readonly uid: string; readonly number: number }>
  readonly #object: Readonly<Record<EventTimes, Statement<OwnerRow>>>
  readonly #podBefore: Readonly<Record<EventTimes, Statement<OwnerRow>>>
  readonly #pod: Statement<OwnerRow>
  readonly #owner: Statement<OwnerRow>
  readonly #changes: Readonly<Record<EventTimes, Statement<OwnerChange>>>
  readonly #kinds = new Map<string, ReadonlyArray<RecordedObjects>>()

  constructor(database: Connection, directory: string) {
    this.#directory = directory
    this.#database = database
    this.#kind = prepare(database, "SELECT id, gvk FROM kind")
    this.#uids = prepare(database, "SELECT uid, number FROM object WHERE kind = ? AND number > ? ORDER BY number")
    const object = (until: "until_time" | "until_received"): Statement<OwnerRow> =>
      prepare(
        database,
        `
        SELECT namespace, name, coalesce(owner_references, '') AS ownerReferences, 'recorded' AS state
        FROM object LEFT JOIN owner_set ON owner_set.id = coalesce((
          SELECT former.owners FROM former_owner_set AS former
          WHERE former.kind = ?1 AND former.number = ?2 AND ${until} >= ?3 ORDER BY until_time LIMIT 1), object.owners)
        WHERE kind = ?1 AND number = ?2`,
      )
    this.#object = { happened: object("until_time"), received: object("until_received") }
    const pod = (order: string): Statement<OwnerRow> =>
      prepare(
        database,
        `
        SELECT namespace, name, owner_references AS ownerReferences, 'recorded' AS state FROM pod JOIN pod_life ON pod_life.pod = pod.number
        WHERE uid = ? AND owner_references IS NOT NULL ${order} LIMIT 1`,
      )
    const podBefore = (time: "time" | "received"): Statement<OwnerRow> => pod(`AND ${time} < ? ORDER BY sequence DESC`)
    this.#podBefore = { happened: podBefore("time"), received: podBefore("received") }
    this.#pod = pod("ORDER BY sequence")
    this.#owner = prepare(
      database,
      `
      SELECT namespace, name, owner_references AS ownerReferences, state FROM owner WHERE uid = ? AND gvk = ? AND state IN ('learnt', 'gone')`,
    )
    const changes = (time: "until_time" | "until_received"): Statement<OwnerChange> =>
      prepare(
        database,
        `
        SELECT ${time} AS time, gvk, uid FROM former_owner_set AS former
        JOIN object ON object.kind = former.kind AND object.number = former.number JOIN kind ON kind.id = former.kind
        WHERE ${time} >= ? AND ${time} < ? AND gvk <> '${podKind}' ORDER BY ${time}`,
      )
    this.#changes = { happened: changes("until_time"), received: changes("until_received") }
  }

  /**
   * The recorded objects whose owners others replaced in a window, in order of time; without pods, which own nothing and are the most. The
   * start is inclusive, the end exclusive, µs since the Unix epoch.
   *
   * @throws ArchiveIoError, CorruptArchiveError
   */
  changesIn(fromTime: number, untilTime: number, times: EventTimes): ReadonlyArray<OwnerChange> {
    return reading(this.#directory, () => {
      this.#check()
      return this.#changes[times].all(fromTime, untilTime).map((change) => ({ ...change }))
    })
  }

  /**
   * What is known now of a referenced owner just before a moment, µs since the Unix epoch; `undefined` if nothing is.
   *
   * @throws ArchiveIoError, CorruptArchiveError
   */
  of(
    owner: Pick<OwnerReference, "apiVersion" | "kind" | "uid">,
    time: number,
    times: EventTimes,
  ): OwnerEdge | undefined {
    return reading(this.#directory, () => {
      this.#check()
      return this.#of(gvkOfReference(owner), owner.uid, time, times)
    })
  }

  /** An owner whose row is not found is unknown, and a row that damage hides is not found. */
  #check(): void {
    if (!this.#isChecked) requireSoundTables(this.#database, this.#directory, OWNER_TABLES)
    this.#isChecked = true
  }

  #of(gvk: string, uid: string, time: number, times: EventTimes): OwnerEdge | undefined {
    for (const objects of this.#recordedAs(gvk)) {
      const number = objects.numbers.get(uid)
      const row = number === undefined ? undefined : this.#object[times].get(objects.kind, number, time)
      if (row !== undefined) return edgeOf(row, objects.gvk)
    }
    const pod = gvk === podKind ? (this.#podBefore[times].get(uid, time) ?? this.#pod.get(uid)) : undefined
    const row = pod ?? this.#owner.get(uid, gvk)
    return row === undefined ? undefined : edgeOf(row, row.state === "recorded" ? gvk : undefined)
  }

  /** The recorded versions of this kind: an object is the same in all of them. */
  #recordedAs(gvk: string): ReadonlyArray<RecordedObjects> {
    let kinds = this.#kinds.get(gvk)
    if (kinds === undefined) {
      const wanted = groupKindOf(gvk)
      kinds = this.#kind
        .all()
        .filter((kind) => groupKindOf(kind.gvk) === wanted)
        .map(({ id, gvk: recorded }) => ({ kind: id, gvk: recorded, numbers: new Map<string, number>(), last: 0 }))
      if (kinds.length === 0) return kinds
      this.#kinds.set(gvk, kinds)
    }
    for (const objects of kinds) {
      for (const { uid, number } of this.#uids.iterate(objects.kind, objects.last)) {
        objects.last = number
        objects.numbers.set(uid, number)
      }
    }
    return kinds
  }
}

/** `state` is the source of the edge. */
interface OwnerRow {
  readonly namespace: string
  readonly name: string
  readonly ownerReferences: string
  readonly state: OwnerEdge["source"]
}

const edgeOf = ({ namespace, name, ownerReferences, state: source }: OwnerRow, gvk: string | undefined): OwnerEdge => ({
  gvk,
  namespace,
  name,
  ownerReferences: parseOwnerReferences(ownerReferences),
  source,
})

/** The objects of one kind by UID. */
interface RecordedObjects {
  readonly kind: number
  readonly gvk: string
  readonly numbers: Map<string, number>
  /** The highest number read so far. */
  last: number
}
