/**
 * Owners that are named and not recorded: open until they have been looked up, then learnt or gone.
 *
 * They are in the recording from the commit that names them, so that no look-up is lost with the process that was to make it.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { NamedOwner } from "./owner-sets.ts"

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
  readonly #open: StatementSync
  readonly #learnt: StatementSync
  readonly #ended: StatementSync
  readonly #hasOpen: StatementSync
  /** By kind and UID, because many objects have the same owner. */
  #named = new Map<string, NamedOwner>()
  #answered: Array<AnsweredOwner> = []
  #above: Array<NamedOwner> = []

  constructor(database: DatabaseSync) {
    const row = "INTO owner (uid, gvk, namespace, name, owner_references, state) VALUES (?, ?, ?, ?, ?, ?)"
    this.#open = database.prepare(`INSERT OR IGNORE ${row}`)
    this.#learnt = database.prepare(`INSERT OR REPLACE ${row}`)
    // What was learnt before it went is kept: it connects the objects below it with those above.
    this.#ended = database.prepare(`
      INSERT ${row} ON CONFLICT (uid, gvk) DO UPDATE SET state = excluded.state WHERE state = 'open'`)
    this.#hasOpen = database.prepare("SELECT EXISTS (SELECT 1 FROM owner WHERE state = 'open') AS found")
  }

  /** Whether an owner waits to be looked up, as of the last commit. */
  get hasOpen(): boolean {
    return this.#hasOpen.get()?.found === 1
  }

  named(owners: ReadonlyArray<NamedOwner>): void {
    for (const owner of owners) this.#named.set(`${owner.gvk} ${owner.uid}`, owner)
  }

  /**
   * `above`: the owners of the looked-up owner. The resolver knows them already; they are stored in case it ends before it has looked them
   * up.
   */
  answered(owner: AnsweredOwner, above: ReadonlyArray<NamedOwner>): void {
    this.#answered.push(owner)
    this.#above.push(...above)
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
