/**
 * Names and owners of the objects of each kind, kept between the questions of a time line, because reading them anew for 100,000 objects takes 0.3 s.
 *
 * Rows never change but for the owners of an object that is adopted; retention removes rows of objects that have ended, which no state names any more. So
 * what is kept is only added to, until an object is adopted. Memory: some 250 bytes an object; beyond {@link mostKept} objects nothing is kept.
 */

import type { LaneOwner, LaneRow } from "../../../timeline/index.ts"
import { gvkOfReference, parseOwnerReferences } from "../../../trace/index.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { prepare, prepareTuples } from "../../tables/database.ts"
import type { QueriedRecording } from "../queried-recording.ts"

/** An object with its place in the recording. */
export interface DirectoryRow extends LaneRow {
  /** Within its kind. */
  readonly number: number
  readonly firstSequence: number
}

const mostKept = 400_000
const pageRows = 4096

type Row = readonly [number, string, string, string, number, number]

const none: ReadonlyArray<LaneOwner> = []

/** The id of the lane of an object. */
export const laneId = ({ id }: Pick<KeptKind, "id">, number: number): string => `${id}.${number}`

/** The kind's number in the archive, and the object's within it; `undefined`: it is not the lane of an object. */
export const laneNumbers = (id: string): { readonly kind: number; readonly number: number } | undefined => {
  const found = /^([1-9]\d{0,8})\.([1-9]\d{0,9})$/.exec(id)
  return found === null ? undefined : { kind: Number(found[1]), number: Number(found[2]) }
}

export class LaneDirectory {
  /** By the number of the kind, in the order of object numbers. */
  readonly #kinds = new Map<number, DirectoryRow[]>()
  readonly #owners = new Map<number, ReadonlyArray<LaneOwner>>()
  /** One text for all objects of a namespace. */
  readonly #namespaces = new Map<string, string>()
  #adoptions = ""
  #count = 0

  /** All rows of a kind up to the cut, ascending by number; they may be more. @throws CorruptArchiveError if one is damaged */
  rowsOf(recording: QueriedRecording, kind: KeptKind): ReadonlyArray<DirectoryRow> {
    recording.requireSoundObjects()
    return recording.reading(() => {
      this.#forgetIfAdopted(recording)
      const rows = this.#kinds.get(kind.id) ?? []
      this.#kinds.set(kind.id, rows)
      const before = rows.length
      this.#readMore(recording, kind, rows)
      this.#count += rows.length - before
      return rows
    })
  }

  #readMore({ database, cut }: QueriedRecording, kind: KeptKind, rows: DirectoryRow[]): void {
    const page = prepareTuples<Row>(
      database,
      `SELECT number, uid, namespace, name, first_sequence, owners FROM object WHERE kind = ? AND number > ? ORDER BY number LIMIT ${pageRows}`,
    )
    for (;;) {
      const found = page.all(kind.id, rows.at(-1)?.number ?? 0)
      for (const [number, uid, namespace, name, firstSequence, owners] of found) {
        if (firstSequence > cut) return
        const facts = { id: laneId(kind, number), gvk: kind.gvk, namespace: this.#shared(namespace), name, uid }
        rows.push({ ...facts, owners: owners === 0 ? none : this.#ownersOf(database, owners), number, firstSequence })
      }
      if (found.length < pageRows) return
    }
  }

  #shared(namespace: string): string {
    const known = this.#namespaces.get(namespace)
    if (known === undefined) this.#namespaces.set(namespace, namespace)
    return known ?? namespace
  }

  #ownersOf(database: QueriedRecording["database"], set: number): ReadonlyArray<LaneOwner> {
    const known = this.#owners.get(set)
    if (known !== undefined) return known
    const row = prepare<{ readonly text: string }>(
      database,
      "SELECT owner_references AS text FROM owner_set WHERE id = ?",
    ).get(set)
    const references = parseOwnerReferences(row?.text ?? "")
    const owners = references
      .toSorted((one, other) => Number(other.controller) - Number(one.controller))
      .map((each) => ({ gvk: gvkOfReference(each), name: each.name, uid: each.uid }))
    this.#owners.set(set, owners)
    return owners
  }

  #forgetIfAdopted({ database }: QueriedRecording): void {
    const { adoptions } = prepare<{ adoptions: string }>(
      database,
      "SELECT count(*) || ' ' || coalesce(max(until_received), 0) AS adoptions FROM former_owner_set",
    ).get() ?? { adoptions: "" }
    if (adoptions === this.#adoptions && this.#count <= mostKept) return
    this.#adoptions = adoptions
    this.#count = 0
    for (const map of [this.#kinds, this.#owners, this.#namespaces]) map.clear()
  }
}
