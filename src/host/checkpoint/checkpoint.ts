/**
 * The checkpoint of one controller: the objects that it knows, on disk before it is given them, and until it has dealt with their deletion.
 *
 * Belongs to the thread that runs the controller, which commits before it enters it. A commit of a few rows takes some 30 to 120 µs, less than a
 * message to another thread and back, and happens only when an object appears, disappears, or gets other labels or owners.
 *
 * Under failure: a commit that fails changes nothing in memory; the owner holds the controller back and commits again. After any failure but a
 * full disk the file is opened anew, which finds damage, and is written whole.
 */
import { join } from "node:path"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { CheckpointFile, CheckpointUnavailable } from "./checkpoint-file.ts"
import { KnownObjects } from "./known-objects.ts"
import { checkpointExtension, removeUnused } from "./unused-checkpoints.ts"

export interface CheckpointOptions {
  /** Of all checkpoints of a host; made if it does not exist. */
  readonly directory: string
  /** Unique in the directory, and fit for a file name: `controller-simplepod`. */
  readonly name: string
  readonly clock: Pick<Clock, "after" | "wallMicros">
  /** Upper limit of the file in bytes. Default: the disk's. */
  readonly maximumBytes?: number | undefined
  /** Gets what an operator should see. */
  readonly say: (detail: string) => void
}

const dayMs = 24 * 3600 * 1000

export class Checkpoint {
  readonly #options: CheckpointOptions
  readonly #selections = new Map<string, KnownObjects>()
  #file: CheckpointFile | undefined
  #touch: Timer | undefined
  #isClosed = false

  /** Opens the file. Throws {@link CheckpointUnavailable}. */
  constructor(options: CheckpointOptions) {
    this.#options = options
    this.#file = this.#open()
    this.#removeUnused()
    this.#scheduleTouch()
  }

  /** The known objects of a selection, always the same instance for the same name. Throws {@link CheckpointUnavailable}. */
  selection(name: string): KnownObjects {
    const present = this.#selections.get(name)
    if (present !== undefined) return present
    this.#file ??= this.#reopen()
    const known = new KnownObjects(this.#file.rows(name, this.#nowSeconds()))
    this.#selections.set(name, known)
    return known
  }

  /** Everything that the selections know is in the file. */
  get isDurable(): boolean {
    return [...this.#selections.values()].every(({ isWritten }) => isWritten)
  }

  /** Makes everything durable, in one transaction. Throws {@link CheckpointUnavailable}. */
  commit(): void {
    if (this.isDurable) return
    try {
      this.#file ??= this.#reopen()
      const changed = [...this.#selections].filter(([, known]) => !known.isWritten)
      this.#file.write(
        changed.map(([selection, known]) => ({ selection, rows: known.unwritten() })),
        this.#nowSeconds(),
      )
    } catch (cause) {
      if (!(cause instanceof CheckpointUnavailable && cause.problem === "disk-full")) this.#abandon()
      throw cause
    }
    for (const known of this.#selections.values()) known.written()
  }

  /** Writes what it can, says what it cannot, and frees the file. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#touch?.cancel()
    try {
      this.commit()
    } catch (cause) {
      // What is not removed is delivered once more; nothing that was given to the controller is unwritten.
      this.#options.say(messageOf(cause))
    }
    this.#abandon()
  }

  #open(): CheckpointFile {
    const { directory, name, maximumBytes, say } = this.#options
    const path = join(directory, `${name}${checkpointExtension}`)
    return CheckpointFile.open({ path, nowSeconds: this.#nowSeconds(), maximumBytes, say })
  }

  /** Another file may have taken the place of the former one. */
  #reopen(): CheckpointFile {
    const file = this.#open()
    for (const known of this.#selections.values()) known.lost()
    return file
  }

  #abandon(): void {
    this.#file?.close()
    this.#file = undefined
  }

  #removeUnused(): void {
    const { directory, say } = this.#options
    try {
      const removed = removeUnused(directory, this.#nowSeconds())
      for (const name of removed) say(`${name} in ${directory} was not used for 30 days and is removed`)
    } catch (cause) {
      say(`unused checkpoints in ${directory} cannot be removed: ${messageOf(cause)}`)
    }
  }

  #scheduleTouch(): void {
    this.#touch = this.#options.clock.after(dayMs, () => {
      try {
        this.#file?.touch(this.#nowSeconds())
      } catch (cause) {
        this.#options.say(messageOf(cause))
      }
      this.#scheduleTouch()
    })
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.wallMicros() / 1_000_000)
  }
}
