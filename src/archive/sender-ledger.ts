/**
 * Exactly once: which frames of which sender the recording already has.
 *
 * A frame's name is (sender, incarnation, number). Numbers rise within an incarnation, and a sender gets a new
 * incarnation each time it starts, counted across restarts of the process. From the moment a new incarnation is
 * handed out, frames of older ones are fenced: their sender is dead, its successor reads the stored state and sends what
 * follows, and taking the dead one's late frames would record those events twice.
 */

import type { DatabaseSync, StatementSync } from "node:sqlite"

/** The last frame of a sender that is stored: everything up to it may be forgotten by the sender. */
export interface Acknowledgement {
  readonly sender: string
  readonly incarnation: number
  readonly number: number
}

/** What to do with a frame. */
export type Admission = "new" | "duplicate" | "fenced"

interface SenderState {
  handedOut: number
  incarnation: number
  /** Last frame taken, committed or not. */
  number: number
  /** Incarnation and number as of the last commit. */
  durable: readonly [incarnation: number, number: number]
}

/** Knows every sender; in memory one small entry each, read from the database once. */
export class SenderLedger {
  readonly #senders = new Map<string, SenderState>()
  /** Senders heard of since the last commit: they wait for an acknowledgement, also of a repeated frame. */
  readonly #waiting = new Set<string>()
  readonly #save: StatementSync
  readonly #handOut: StatementSync

  constructor(database: DatabaseSync) {
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

  /** Judges a frame without taking it. A duplicate's sender gets its acknowledgement (again) with the next commit. */
  admit(sender: string, incarnation: number, number: number): Admission {
    const state = this.#senders.get(sender)
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
   * Hands out the next incarnation, at least 1 and higher than any before, stored before it is answered. A statement of
   * its own: call it outside of a transaction. What a commit has not stored yet is not stored by it either.
   */
  nextIncarnation(sender: string): number {
    const state = this.#senders.get(sender)
    const next = Math.max(state?.handedOut ?? 0, state?.incarnation ?? 0) + 1
    this.#handOut.run(sender, next)
    this.#stateOf(sender).handedOut = next
    return next
  }

  /** Last frame of this incarnation that is committed; 0 if none is. */
  lastFrame(sender: string, incarnation: number): number {
    const [durableIncarnation, number] = this.#senders.get(sender)?.durable ?? [0, 0]
    return durableIncarnation === incarnation ? number : 0
  }

  /** Writes what the waiting senders may be told; inside the commit's transaction. */
  save(): void {
    for (const sender of this.#waiting) {
      const state = this.#stateOf(sender)
      this.#save.run(sender, state.handedOut, state.incarnation, state.number)
    }
  }

  /** After the commit: what to tell whom. */
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
