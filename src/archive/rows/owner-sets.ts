/**
 * What ownerReferences say, each text once: all pods of a ReplicaSet have the same, and an object's row refers to it by number.
 *
 * Texts met lately are kept in memory, so that one is parsed and stored when it is new and not with every object. One
 * that was forgotten meanwhile is stored again under another number, which costs a row and changes nothing.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import { gvkOfReference } from "../../trace/ownership/ownership.ts"

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
interface OwnerSet {
  /** 0: no owners. */
  readonly id: number
  /** The owners that nobody will read in an object of their own. */
  readonly unrecorded: ReadonlyArray<NamedOwner>
}

/** Characters of texts kept: at most some 4 MB, of texts as usual some 8,000. */
const maximumKept = 2 * 1024 * 1024

/** Characters from which a text is not kept: nobody writes one for many objects, and four thousand of 100 kB ended the store's memory. */
const longest = 16 * 1024

/** Characters of a name, and of a UID or kind: Kubernetes has none longer than 253, so nobody needs to be asked for what one names. */
const longestName = 253

const none: OwnerSet = { id: 0, unrecorded: [] }

export class OwnerSets {
  readonly #insert: StatementSync
  #recordedKinds: ReadonlySet<string>
  #nextId: number
  readonly #known = new Map<string, OwnerSet>()
  #kept = 0
  #pending: Array<readonly [id: number, references: string]> = []

  /** `recordedKinds`: those all of whose objects are recorded; nobody asks for one of them. */
  constructor(database: DatabaseSync, recordedKinds: ReadonlyArray<string>) {
    this.#recordedKinds = new Set(recordedKinds)
    this.#insert = database.prepare("INSERT INTO owner_set (id, owner_references) VALUES (?, ?)")
    this.#nextId = Number(database.prepare("SELECT coalesce(max(id), 0) AS last FROM owner_set").get()?.last) + 1
  }

  /** What was kept says who is to be asked for by the kinds of before. */
  setRecordedKinds(kinds: ReadonlyArray<string>): void {
    this.#recordedKinds = new Set(kinds)
    this.#known.clear()
    this.#kept = 0
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
    if (text.length > longest) return set
    if (this.#kept + key.length > maximumKept) {
      this.#known.clear()
      this.#kept = 0
    }
    this.#kept += key.length
    this.#known.set(key, set)
    return set
  }

  /** The owners that a text names and nobody will read in an object of their own. */
  unrecorded(namespace: string, references: string): ReadonlyArray<NamedOwner> {
    return parseOwnerReferences(references).flatMap((reference) => {
      const gvk = gvkOfReference(reference)
      const { uid, name } = reference
      if (this.#recordedKinds.has(gvk) || [uid, gvk, name].some((each) => each.length > longestName)) return []
      return [{ uid, gvk, namespace, name }]
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
