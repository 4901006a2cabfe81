/**
 * The distinct texts of ownerReferences: all pods of a ReplicaSet share one, and an object's row refers to it by number.
 *
 * Recent texts are cached, so that a text is parsed and stored once and not with every object. A text that was evicted is stored again
 * under another number, which costs a row and is harmless.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { parseOwnerReferences } from "../../trace/ownership/owner-references.ts"
import { gvkOfReference } from "../../trace/ownership/ownership.ts"

/** An owner that an object names. */
export interface NamedOwner {
  readonly uid: string
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  /** The namespace of the owned object: an owner is in the same namespace, or in none. */
  readonly namespace: string
  readonly name: string
}

/** One text of ownerReferences. */
interface OwnerSet {
  /** 0: no owners. */
  readonly id: number
  /** The owners whose own objects will not be recorded. */
  readonly unrecorded: ReadonlyArray<NamedOwner>
}

/** Characters of cached texts: at most some 4 MB, usually some 8,000 texts. */
const maximumKept = 2 * 1024 * 1024

/**
 * Characters beyond which a text is not cached: no one writes such a text for many objects, and four thousand of 100 kB exhausted the
 * store's memory.
 */
const longest = 16 * 1024

/** Maximum characters of a name, UID or kind: Kubernetes allows at most 253, so longer ones need not be looked up. */
const longestName = 253

const none: OwnerSet = { id: 0, unrecorded: [] }

export class OwnerSets {
  readonly #insert: StatementSync
  #recordedKinds: ReadonlySet<string>
  #nextId: number
  readonly #known = new Map<string, OwnerSet>()
  #kept = 0
  #pending: Array<readonly [id: number, references: string]> = []

  /** `recordedKinds`: kinds whose objects are all recorded, which are never looked up. */
  constructor(database: DatabaseSync, recordedKinds: ReadonlyArray<string>) {
    this.#recordedKinds = new Set(recordedKinds)
    this.#insert = database.prepare("INSERT INTO owner_set (id, owner_references) VALUES (?, ?)")
    this.#nextId = Number(database.prepare("SELECT coalesce(max(id), 0) AS last FROM owner_set").get()?.last) + 1
  }

  /** The cached texts were classified with the previous kinds. */
  setRecordedKinds(kinds: ReadonlyArray<string>): void {
    this.#recordedKinds = new Set(kinds)
    this.forget()
  }

  /** From now on every text is stored anew, so that rows to which nothing refers now can be removed. */
  forget(): void {
    this.#known.clear()
    this.#kept = 0
  }

  /** The set of an object's ownerReferences, to be stored with the next commit. `references`: the JSON array as received. */
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

  /** The owners in a text whose own objects will not be recorded. */
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
