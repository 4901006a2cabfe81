/** How a recording is opened for writing, and what its writer returns for frames and commits. */

import type { FileSystemTypeOf, LockHolder } from "./directory/directory-lock.ts"
import type { RetentionSizes } from "./retention/retention.ts"
import type { LostBeginning } from "./rows/metadata.ts"
import type { NamedOwner } from "./rows/owner-sets.ts"
import { type Connection, prepare, rowsOf, type Statement } from "./tables/database.ts"
import type { FsyncMode } from "./tables/schema.ts"

/** How a recording is opened for writing. Every default suits `reel record`. */
export interface ArchiveWriterOptions {
  /** Default `interval`: call `ArchiveWriter.sync` each second; a power failure loses at most that second. */
  readonly fsync?: FsyncMode
  /** Upper limit of the database file; commits beyond it fail with DiskFullError. Default: none. */
  readonly maximumBytes?: number
  /** For a new recording in the place of another: what is known of that. Default: no other was lost. */
  readonly lostBeginning?: LostBeginning | undefined
  /** For a new recording in the place of another: frames of lives up to this number are fenced. Default: none are. */
  readonly incarnationsAbove?: number
  /** µs since the Unix epoch. Default: the system's clock. */
  readonly now?: () => number
  /** Content of the lock's side file. Default: this process. */
  readonly holder?: LockHolder
  /** Default: statfs(2). */
  readonly fileSystemTypeOf?: FileSystemTypeOf
  /** When blocks are sealed and checkpoints written; smaller values give small tests many of them. */
  readonly limits?: Partial<ArchiveLimits>
  /** Kinds whose objects are all recorded, so that their owners need no look-up. Default: none. */
  readonly recordedKinds?: ReadonlyArray<string>
}

/** Sizes that shape a recording; readers need not know them. */
interface ArchiveLimits {
  /** Bytes of objects after which a block is sealed. Default `BLOCK_BYTES`, 1 MiB. */
  readonly blockBytes: number
  /** Blocks holding a kind between two of its checkpoints. Default `BLOCKS_PER_CHECKPOINT`. */
  readonly blocksPerCheckpoint: number
  /** Events for each object alive between two of its checkpoints. Default `EVENTS_PER_OBJECT`. */
  readonly eventsPerObject: number
  /** What is removed at once. */
  readonly retention: Partial<RetentionSizes>
}

/** The result for a frame. `fenced`: its sender has a successor; the frame was dropped and will never be acknowledged. */
export type AppendResult = "appended" | "duplicate" | "fenced"

/** The result of a commit. */
export interface CommitResult {
  /** The last durable frame of every sender with frames since the previous commit. */
  readonly acknowledgements: ReadonlyArray<Acknowledgement>
  /** Events and gaps made durable. */
  readonly events: number
  /** Bytes of the frames made durable, as they arrived. */
  readonly bytes: number
  /** Blocks sealed. */
  readonly blocks: number
  /** Sequence number of the last durable event. */
  readonly cut: number
  /** Owners named by the objects and pods in it whose kinds are not recorded whole. */
  readonly namedOwners: ReadonlyArray<NamedOwner>
}

// Exactly-once delivery: tracks which frames of each sender the recording already has.
//
// A frame is identified by (sender, incarnation, number). Numbers increase within an incarnation, and a sender gets a new incarnation each
// time it starts, counted across restarts of the process. Once a new incarnation is assigned, frames of older ones are fenced: their sender
// is dead, its successor reads the stored state and sends what follows, and taking late frames of the dead one would record those events
// twice.

/** The last frame of a sender that is stored: the sender may drop everything up to it. */
interface Acknowledgement {
  readonly sender: string
  readonly incarnation: number
  readonly number: number
}

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
  readonly #save: Statement<never>
  readonly #handOut: Statement<never>

  /** `above`: lives up to this number belong to another recording. */
  constructor(database: Connection, above = 0) {
    this.#above = above
    this.#save = prepare(
      database,
      `
      INSERT INTO sender (name, handed_out, incarnation, frame) VALUES (?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET handed_out = excluded.handed_out, incarnation = excluded.incarnation,
        frame = excluded.frame`,
    )
    this.#handOut = prepare(
      database,
      `
      INSERT INTO sender (name, handed_out, incarnation, frame) VALUES (?, ?, 0, 0)
      ON CONFLICT (name) DO UPDATE SET handed_out = excluded.handed_out`,
    )
    const senders = "SELECT name, handed_out AS handedOut, incarnation, frame AS number FROM sender"
    for (const { name, ...row } of rowsOf<Omit<SenderState, "durable"> & { name: string }>(database, senders))
      this.#senders.set(name, { ...row, durable: [row.incarnation, row.number] })
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
