/**
 * Owners that are named and not recorded: open until somebody has asked for them, then learnt, or gone.
 *
 * They stand in the recording from the commit that names them, so that no question is lost with the process that meant to ask it.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { NamedOwner } from "./owner-sets.ts"

/** What the API server said of an owner. */
export interface AnsweredOwner extends NamedOwner {
  /** Of the owner itself; the empty string for a cluster-scoped one. */
  readonly namespace: string
  /** The JSON array; the empty string for none. */
  readonly ownerReferences: string
  /**
   * `learnt`: what its ownerReferences are. `gone`: no object of that name has that UID any more, and nothing more will be learnt.
   * `recorded`: nobody needed to ask, for it is an object of the recording.
   */
  readonly state: "learnt" | "gone" | "recorded"
}

/** The writer's view of the table `owner`. */
export class UnrecordedOwners {
  readonly #open: StatementSync
  readonly #learnt: StatementSync
  readonly #ended: StatementSync
  readonly #hasOpen: StatementSync
  /** By kind and UID: many objects name the same. */
  #named = new Map<string, NamedOwner>()
  #answered: Array<AnsweredOwner> = []
  #above: Array<NamedOwner> = []

  constructor(database: DatabaseSync) {
    const row = "INTO owner (uid, gvk, namespace, name, owner_references, state) VALUES (?, ?, ?, ?, ?, ?)"
    this.#open = database.prepare(`INSERT OR IGNORE ${row}`)
    this.#learnt = database.prepare(`INSERT OR REPLACE ${row}`)
    // What was learnt before it went stays: it is how those below it hang together.
    this.#ended = database.prepare(`
      INSERT ${row} ON CONFLICT (uid, gvk) DO UPDATE SET state = excluded.state WHERE state = 'open'`)
    this.#hasOpen = database.prepare("SELECT EXISTS (SELECT 1 FROM owner WHERE state = 'open') AS found")
  }

  /** Whether an owner waits for an answer, as of the last commit. */
  get hasOpen(): boolean {
    return this.#hasOpen.get()?.found === 1
  }

  named(owners: ReadonlyArray<NamedOwner>): void {
    for (const owner of owners) this.#named.set(`${owner.gvk} ${owner.uid}`, owner)
  }

  /** `above`: the owners that the answer names. Whoever asked knows them; they are stored lest it ends before it has asked further. */
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

  /** After the commit: whom objects named, answered before or not. */
  takeNamed(): ReadonlyArray<NamedOwner> {
    const named = [...this.#named.values()]
    this.#named = new Map()
    this.#answered = []
    this.#above = []
    return named
  }
}
