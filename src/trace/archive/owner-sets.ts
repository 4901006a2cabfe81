/**
 * What ownerReferences say, each text once: all pods of a ReplicaSet have the same, and an object's row refers to it by number.
 *
 * Texts met lately are kept in memory, so that one is parsed and stored when it is new and not with every object. One
 * that was forgotten meanwhile is stored again under another number, which costs a row and changes nothing.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { parseOwnerReferences } from "../owner-references.ts"
import { gvkOfReference } from "../ownership.ts"

/** An owner that an object names. */
export interface NamedOwner {
  readonly uid: string
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  /** Of the owned object: an owner is in the same namespace, or in none. */
  readonly namespace: string
  readonly name: string
}

/** What some objects' ownerReferences say. */
export interface OwnerSet {
  /** 0: no owners. */
  readonly id: number
  /** The owners that nobody will read in an object of their own. */
  readonly unrecorded: ReadonlyArray<NamedOwner>
}

/** Texts kept: some 2 MB. */
const maximumKept = 4096

const none: OwnerSet = { id: 0, unrecorded: [] }

export class OwnerSets {
  readonly #insert: StatementSync
  readonly #recordedKinds: ReadonlySet<string>
  #nextId: number
  #known = new Map<string, OwnerSet>()
  #pending: Array<readonly [id: number, references: string]> = []

  /** `recordedKinds`: those all of whose objects are recorded; nobody asks for one of them. */
  constructor(database: DatabaseSync, recordedKinds: ReadonlySet<string>) {
    this.#recordedKinds = recordedKinds
    this.#insert = database.prepare("INSERT INTO owner_set (id, owner_references) VALUES (?, ?)")
    this.#nextId = Number(database.prepare("SELECT coalesce(max(id), 0) AS last FROM owner_set").get()?.last) + 1
  }

  /** The set of an object's ownerReferences, to be stored with the next commit. `references`: the JSON array, as it came. */
  of(namespace: string, references: Uint8Array | undefined): OwnerSet {
    if (references === undefined || references.length === 0) return none
    const text = Buffer.from(references.buffer, references.byteOffset, references.length).toString("utf8")
    const key = `${namespace} ${text}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const set = { id: this.#nextId++, unrecorded: this.unrecorded(namespace, text) }
    this.#pending.push([set.id, text])
    if (this.#known.size >= maximumKept) this.#known.clear()
    this.#known.set(key, set)
    return set
  }

  /** The owners that a text names and nobody will read in an object of their own. */
  unrecorded(namespace: string, references: string): ReadonlyArray<NamedOwner> {
    return parseOwnerReferences(references).flatMap((reference) => {
      const gvk = gvkOfReference(reference)
      return this.#recordedKinds.has(gvk) ? [] : [{ uid: reference.uid, gvk, namespace, name: reference.name }]
    })
  }

  /** Inside the commit's transaction. */
  save(): void {
    for (const [id, references] of this.#pending) this.#insert.run(id, references)
  }

  /** After the commit. */
  markSaved(): void {
    this.#pending = []
  }
}
