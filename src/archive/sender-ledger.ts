/**
 * Exactly-once delivery: tracks which frames of each sender the recording already has.
 *
 * A frame is identified by (sender, incarnation, number). Numbers increase within an incarnation, and a sender gets a new incarnation each
 * time it starts, counted across restarts of the process. Once a new incarnation is assigned, frames of older ones are fenced: their sender
 * is dead, its successor reads the stored state and sends what follows, and taking late frames of the dead one would record those events
 * twice.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"

/** The last frame of a sender that is stored: the sender may drop everything up to it. */
export interface Acknowledgement {
  readonly sender: string
  readonly incarnation: number
  readonly number: number
}

/** The decision about a frame. */
type Admission = "new" | "duplicate" | "fenced"

interface SenderState {
  handedOut: number
  incarnation: number
  /** Last frame taken, committed or not. */
  number: number
  /** Incarnation and number as of the last commit. */
  durable: readonly [incarnation: number, number: number]
}

/** The ledger of all senders; in memory one small entry each, read from the database once. */
export class SenderLedger {
  readonly #senders = new Map<string, SenderState>()
  /** Senders with frames since the last commit: they wait for an acknowledgement, also of a repeated frame. */
  readonly #waiting = new Set<string>()
  readonly #above: number
  readonly #save: StatementSync
  readonly #handOut: StatementSync

  /** `above`: lives up to this number belong to another recording. */
  constructor(database: DatabaseSync, above = 0) {
    this.#above = above
    this.#save = database.prepare(`
      INSERT INTO sender (name, handed_out, incarnation, frame) VALUES (?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET handed_out = excluded.handed_out, incarnation = excluded.incarnation,
        frame = excluded.frame`)
    this.#handOut = database.prepare(`
      INSERT INTO sender (name, handed_out, incarnation, frame) VALUES (?, ?, 0, 0)
      ON CONFLICT (name) DO UPDATE SET handed_out = excluded.handed_out`)
    for (const row of database.prepare("SELECT name, handed_out, incarnation, frame FROM sender").all()) {
      const [incarnation, number] = [Number(row.incarnation), Number(row.frame)]
      const handedOut = Number(row.handed_out)
      this.#senders.set(String(row.name), { handedOut, incarnation, number, durable: [incarnation, number] })
    }
  }

  /** Classifies a frame without taking it. A duplicate's sender gets its acknowledgement (again) with the next commit. */
  admit(sender: string, incarnation: number, number: number): Admission {
    const state = this.#senders.get(sender)
    if (incarnation <= this.#above) return "fenced"
    if (state === undefined) return "new"
    if (incarnation < Math.max(state.handedOut, state.incarnation)) return "fenced"
    if (incarnation > state.incarnation || number > state.number) return "new"
    this.#waiting.add(sender)
    return "duplicate"
  }

  /** The frame was taken. */
  accept(sender: string, incarnation: number, number: number): void {
    const state = this.#stateOf(sender)
    state.incarnation = incarnation
    state.number = number
    this.#waiting.add(sender)
  }

  /**
   * Assigns the next incarnation, at least 1 and higher than any before, and stores it before returning. It is a statement of its own, so
   * call it outside of a transaction; it does not store anything else that is pending.
   */
  nextIncarnation(sender: string): number {
    const state = this.#senders.get(sender)
    const next = Math.max(this.#above, state?.handedOut ?? 0, state?.incarnation ?? 0) + 1
    this.#handOut.run(sender, next)
    this.#stateOf(sender).handedOut = next
    return next
  }

  /** Last committed frame of this incarnation; 0 if there is none. */
  lastFrame(sender: string, incarnation: number): number {
    const [durableIncarnation, number] = this.#senders.get(sender)?.durable ?? [0, 0]
    return durableIncarnation === incarnation ? number : 0
  }

  /** Writes the state of the waiting senders; inside the commit's transaction. */
  save(): void {
    for (const sender of this.#waiting) {
      const state = this.#stateOf(sender)
      this.#save.run(sender, state.handedOut, state.incarnation, state.number)
    }
  }

  /** After the commit: the acknowledgements to send. */
  takeAcknowledgements(): ReadonlyArray<Acknowledgement> {
    const acknowledgements = Array.from(this.#waiting, (sender) => {
      const state = this.#stateOf(sender)
      const { incarnation, number } = state
      state.durable = [incarnation, number]
      return { sender, incarnation, number }
    })
    this.#waiting.clear()
    return acknowledgements
  }

  #stateOf(sender: string): SenderState {
    let state = this.#senders.get(sender)
    if (state === undefined) {
      state = { handedOut: 0, incarnation: 0, number: 0, durable: [0, 0] }
      this.#senders.set(sender, state)
    }
    return state
  }
}
