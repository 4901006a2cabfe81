/**
 * The pins of a recording, as its writer makes and removes them, and as its retention heeds them: a window without a copy holds the beginning of the recording
 * back, until it is copied.
 */

import { messageOf } from "../../message-of.ts"
import { DiskFullError, isArchiveError, systemCodeOf, toArchiveError } from "../directory/archive-errors.ts"
import type { TrustedDatabase } from "../tables/trusted-database.ts"
import type { Pin, PinRequest } from "./pin.ts"
import { PinCopies } from "./pin-copies.ts"
import { holdingRowsOf, isWindowOver, type PinRow, PinRows, pinRowsOf, pinsIn } from "./pin-rows.ts"
import { blocksOfWindow, type CopiedRecording, copyWindowRoom } from "./window-copy.ts"

/** What pins use of the writer of a recording. */
interface PinParts {
  readonly directory: string
  readonly database: TrustedDatabase
  /** µs since the Unix epoch. */
  readonly now: () => number
}

/** How a window is copied. */
interface CopyConditions {
  /** Bytes that may be written. */
  readonly room: () => number
  /** Whether the copy is to be given up, because commits find no room. */
  readonly isGivenUp: () => boolean
  /** Whether nothing else is done between the steps. */
  readonly isAlone: boolean
}

/** Belongs to the writer of a recording. Each change is durable as a commit is. */
export class Pins {
  readonly #parts: PinParts
  readonly #rows: PinRows
  readonly #copies: PinCopies
  #holding: ReadonlyArray<PinRow> = []
  #trouble: string | undefined
  /** Of which something was removed without a copy by this writer. */
  readonly #lost = new Set<string>()

  /** Finishes what an earlier writer had begun. @throws ArchiveError, or what SQLite and the file system throw */
  constructor(parts: PinParts) {
    this.#parts = parts
    this.#rows = new PinRows(parts.database.shared)
    this.#copies = new PinCopies(parts.directory)
    for (const { id, bytes } of pinRowsOf(parts.database.shared)) {
      const found = this.#copies.bytesOf(id)
      if (bytes === 0 && found > 0) this.#write(() => this.#rows.noteKept(id, found))
    }
    this.#reload()
    this.#tidy()
  }

  /** The earliest window first. @throws ArchiveError */
  all(): ReadonlyArray<Pin> {
    return this.#write(() => pinsIn(this.#parts.database.shared, this.#parts.now()))
  }

  /** Makes a pin, or changes the window of the one with the same key. @throws PinRefused, ArchiveError */
  add(request: PinRequest): Pin {
    const pin = this.#write(() => this.#rows.add(request, this.#parts.now()))
    // One that was just made, and not noted yet, may lack what the window has now.
    if (pin.bytes === 0) this.#copies.discard(pin.id)
    this.#reload()
    return pin
  }

  /** Removes a pin with its copy, which stays for as long as it is being read. Whether there was one. @throws ArchiveError */
  remove(id: string): boolean {
    try {
      this.#copies.noteRemoving(id)
    } catch (error) {
      throw toArchiveError(this.#parts.directory, "pin", error)
    }
    const isRemoved = this.#write(() => this.#rows.remove(id))
    this.#lost.delete(id)
    this.#reload()
    this.#tidy()
    return isRemoved
  }

  /** Whether there is one. `atMicros`: when its window was exported. @throws ArchiveError */
  noteExported(id: string, atMicros: number): boolean {
    return this.#write(() => this.#rows.noteExported(id, atMicros))
  }

  /** Something may be removed now. `isPinned`: when it was last looked at, a pin held it back. @throws what SQLite throws */
  beginRound(isPinned: boolean): void {
    if (!isPinned) this.#trouble = undefined
    this.#tidy()
  }

  /** Removes copies of pins that were removed. What the file system refuses is tried again later. */
  #tidy(): void {
    const { database, directory, now } = this.#parts
    try {
      this.#copies.tidy(() => new Set(pinRowsOf(database.shared).map(({ id }) => id)), now())
    } catch (error) {
      if (systemCodeOf(error) === undefined) throw error
      this.#trouble = `Copies of pins cannot be removed: ${messageOf(toArchiveError(directory, "pin", error))}`
    }
  }

  /** µs since the Unix epoch: what was received from then on belongs to windows that have no copy yet. Infinity: there are none. */
  get heldFrom(): number {
    return this.#holding[0]?.fromTime ?? Number.POSITIVE_INFINITY
  }

  /** Why the copy that is needed cannot be made, or what was lost without one, as long as its pin is there; one sentence. `undefined`: nothing is wrong. */
  get trouble(): string | undefined {
    if (this.#trouble !== undefined || this.#lost.size === 0) return this.#trouble
    return `For lack of room, what pins keep was removed without a copy: ${[...this.#lost].join(", ")}.`
  }

  /** What was received up to this moment has been removed of some kinds, in a transaction of the caller. @throws what SQLite throws */
  noteLost(throughMicros: number): void {
    if (throughMicros < this.heldFrom) return
    this.#rows.noteLost(throughMicros)
    for (const { id, fromTime } of this.#holding) if (fromTime <= throughMicros) this.#lost.add(id)
    this.#reload()
  }

  /**
   * Copies the earliest window that has no copy, unless it is not over or there is no room. Yields after each transaction; returns whether it has a copy now, or
   * holds nothing back any more. @throws what SQLite throws for the recording
   */
  *copyNext(recording: CopiedRecording, conditions: CopyConditions): Generator<void, boolean, void> {
    const [row] = this.#holding
    const { database, directory, now } = this.#parts
    if (row === undefined || !isWindowOver(database.shared, row.untilTime, now())) return false
    // One that could not be noted, as on a full disk.
    if (this.#copies.bytesOf(row.id) > 0) {
      this.#noteKept(row.id)
      return true
    }
    const blocks = yield* blocksOfWindow(database.shared, row)
    if (blocks.isOpen) return false
    const noRoom = `Pin ${row.id} keeps them, and there is no room for its copy of about ${blocks.bytes} bytes.`
    if (conditions.room() < copyWindowRoom(blocks)) {
      this.#trouble = noRoom
      return false
    }
    try {
      for (const _ of this.#copies.make(recording, row.id, { window: row, blocks, isAlone: conditions.isAlone })) {
        // Once it is whole it is worth being noted.
        if ((conditions.isGivenUp() || !this.#isHolding(row)) && this.#copies.bytesOf(row.id) === 0) return false
        yield
      }
    } catch (error) {
      const known = toArchiveError(directory, "copying a pinned window", error)
      if (!isArchiveError(known)) throw known
      this.#trouble = known instanceof DiskFullError ? noRoom : `Pin ${row.id} keeps them: ${known.message}`
      return false
    }
    // It may have been removed or extended meanwhile.
    if (this.#isHolding(row)) this.#noteKept(row.id)
    else this.#copies.discard(row.id)
    return true
  }

  #noteKept(id: string): void {
    this.#trouble = undefined
    this.#write(() => this.#rows.noteKept(id, this.#copies.bytesOf(id)))
    this.#reload()
  }

  #isHolding({ id, fromTime, untilTime }: PinRow): boolean {
    return this.#holding.some((now) => now.id === id && now.fromTime === fromTime && now.untilTime === untilTime)
  }

  #reload(): void {
    this.#holding = holdingRowsOf(this.#parts.database.shared)
  }

  #write<Answer>(write: () => Answer): Answer {
    let answer: { readonly value: Answer } | undefined
    this.#parts.database.transaction("pin", () => {
      answer = { value: write() }
    })
    if (answer === undefined) throw new Error("a transaction that did not run")
    return answer.value
  }
}
