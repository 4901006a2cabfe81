/**
 * The distinct texts of ownerReferences: all pods of a ReplicaSet share one, and an object's row refers to it by number.
 *
 * Recent texts are cached, so that a text is parsed and stored once and not with every object. A text that was evicted is stored again
 * under another number, which costs a row and is harmless.
 */

import { gvkOfReference, parseOwnerReferences } from "../../trace/index.ts"
import { type Connection, numberOf, prepare, type Statement } from "../tables/database.ts"

/** An owner that an object names. */
export interface NamedOwner {
  readonly uid: string
  /** `apps/v1.ReplicaSet`. */
  readonly gvk: string
  /** The namespace of the owned object: an owner is in the same namespace, or in none. */
  readonly namespace: string
  readonly name: string
}

interface OwnerSet {
  /** 0: no owners. */
  readonly id: number
  /** The owners whose own objects will not be recorded. */
  readonly unrecorded: ReadonlyArray<NamedOwner>
}

/** Characters of cached texts: at most some 4 MB, usually some 8,000 texts. */
const maximumKept = 2 * 1024 * 1024

/**
 * Characters beyond which a text is not cached: in practice so long a text does not belong to many objects, and four
 * thousand of 100 kB exhausted the store's memory.
 */
const longest = 16 * 1024

/** Maximum characters of a name, UID or kind: Kubernetes allows at most 253, so longer ones need not be looked up. */
const longestName = 253

const none: OwnerSet = { id: 0, unrecorded: [] }

export class OwnerSets {
  readonly #insert: Statement<never>
  #recordedKinds: ReadonlySet<string>
  #nextId: number
  readonly #known = new Map<string, OwnerSet>()
  #kept = 0
  #pending: Array<readonly [id: number, references: string]> = []

  /** `recordedKinds`: kinds whose objects are all recorded, which are never looked up. */
  constructor(database: Connection, recordedKinds: ReadonlyArray<string>) {
    this.#recordedKinds = new Set(recordedKinds)
    this.#insert = prepare(database, "INSERT INTO owner_set (id, owner_references) VALUES (?, ?)")
    this.#nextId = numberOf(database, "SELECT max(id) AS value FROM owner_set") + 1
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

// Owners that are named and not recorded: open until they have been looked up, then learnt or gone.
//
// They are in the recording from the commit that names them, so that no look-up is lost with the process that was to make it.

/** The result of looking an owner up at the API server. */
export interface AnsweredOwner extends NamedOwner {
  /** The owner's own namespace; the empty string for a cluster-scoped one. */
  readonly namespace: string
  /** The JSON array; the empty string for none. */
  readonly ownerReferences: string
  /**
   * `learnt`: its ownerReferences are known. `gone`: no object of that name has that UID any more, and nothing more can be learnt.
   * `recorded`: it is an object of the recording, so no look-up was needed.
   */
  readonly state: "learnt" | "gone" | "recorded"
}

/** The writer's view of the table `owner`. */
export class UnrecordedOwners {
  readonly #open: Statement<never>
  readonly #learnt: Statement<never>
  readonly #ended: Statement<never>
  readonly #hasOpen: Statement<{ readonly found: number }>
  /** By kind and UID, because many objects have the same owner. */
  #named = new Map<string, NamedOwner>()
  #answered: Array<AnsweredOwner> = []
  #above: Array<NamedOwner> = []
  /** UIDs that were named or answered since {@link noteUids}; `undefined`: they are not being collected. */
  #noted: Set<string> | undefined

  constructor(database: Connection) {
    const row = "INTO owner (uid, gvk, namespace, name, owner_references, state) VALUES (?, ?, ?, ?, ?, ?)"
    this.#open = prepare(database, `INSERT OR IGNORE ${row}`)
    this.#learnt = prepare(database, `INSERT OR REPLACE ${row}`)
    // What was learnt before it went is kept: it connects the objects below it with those above.
    this.#ended = prepare(
      database,
      `
      INSERT ${row} ON CONFLICT (uid, gvk) DO UPDATE SET state = excluded.state WHERE state = 'open'`,
    )
    this.#hasOpen = prepare(database, "SELECT EXISTS (SELECT 1 FROM owner WHERE state = 'open') AS found")
  }

  get hasOpen(): boolean {
    return this.#hasOpen.get()?.found === 1
  }

  named(owners: ReadonlyArray<NamedOwner>): void {
    for (const owner of owners) {
      this.#named.set(`${owner.gvk} ${owner.uid}`, owner)
      this.#noted?.add(owner.uid)
    }
  }

  /**
   * The UIDs of owners that are named or answered from now on, until {@link endNoting}, also those that are not
   * committed yet.
   */
  noteUids(): ReadonlySet<string> {
    this.#noted = new Set()
    return this.#noted
  }

  endNoting(): void {
    this.#noted = undefined
  }

  /**
   * `above`: the owners of the looked-up owner. The resolver knows them already; they are stored in case it ends before it has looked them
   * up.
   */
  answered(owner: AnsweredOwner, above: ReadonlyArray<NamedOwner>): void {
    this.#answered.push(owner)
    this.#above.push(...above)
    for (const { uid } of [owner, ...above]) this.#noted?.add(uid)
  }

  /** Inside the commit's transaction. */
  save(): void {
    for (const { uid, gvk, namespace, name } of [...this.#named.values(), ...this.#above]) {
      this.#open.run(uid, gvk, namespace, name, "", "open")
    }
    for (const { uid, gvk, namespace, name, ownerReferences, state } of this.#answered) {
      const statement = state === "learnt" ? this.#learnt : this.#ended
      statement.run(uid, gvk, namespace, name, ownerReferences, state)
    }
  }

  /** After the commit: the owners that objects named, known or not. */
  takeNamed(): ReadonlyArray<NamedOwner> {
    const named = [...this.#named.values()]
    this.#named = new Map()
    this.#answered = []
    this.#above = []
    return named
  }
}
