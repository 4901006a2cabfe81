/**
 * The checkpoint of one controller: the objects that it knows, on disk before it is given them, and until it has dealt with their deletion. It belongs
 * to the thread that runs the controller, which commits before it enters it.
 *
 * A commit that fails changes nothing in memory; the owner holds the controller back and commits again. After any failure but a full disk the file is
 * opened anew, which finds damage, and is written whole.
 */
import { readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import * as Schema from "effect/Schema"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import { CheckpointFile, CheckpointUnavailable, keptSeconds } from "./checkpoint-file.ts"
import { KnownObjects } from "./known-objects.ts"

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

/** ms after the start: by then a controller has begun its watches, and one that ends sooner again and again is not quiet. */
const firstTouchMs = 10_000
const dayMs = 24 * 3600 * 1000

export class Checkpoint {
  readonly #options: CheckpointOptions
  readonly #selections = new Map<string, KnownObjects>()
  /** Rows of the file, of selections that have not been requested. */
  readonly #loaded: Map<string, ReadonlyArray<readonly [uid: string, text: string]>>
  #file: CheckpointFile | undefined
  #touch: Timer | undefined
  #isClosed = false

  /** Opens the file and reads it. Throws {@link CheckpointUnavailable}. */
  constructor(options: CheckpointOptions) {
    this.#options = options
    const file = this.#open()
    this.#file = file
    try {
      this.#loaded = file.load()
    } catch (cause) {
      this.#abandon()
      throw cause
    }
    this.#removeUnused()
    this.#scheduleTouch(firstTouchMs)
  }

  /** The known objects of a selection, always the same instance for the same name. */
  selection(name: string): KnownObjects {
    const known = this.#selections.get(name) ?? new KnownObjects(this.#loaded.get(name))
    this.#loaded.delete(name)
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

  #scheduleTouch(delayMs: number): void {
    this.#touch = this.#options.clock.after(delayMs, () => {
      try {
        this.#file?.touch(this.#selections.keys(), this.#nowSeconds())
      } catch (cause) {
        this.#options.say(messageOf(cause))
      }
      this.#scheduleTouch(dayMs)
    })
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.wallMicros() / 1_000_000)
  }
}

/** Of the file of each controller in a state directory. */
const checkpointExtension = ".checkpoint"

/**
 * Removes the checkpoints of controllers that are not run any more: files that no host has had open for 30 days. A host touches those that it
 * has open once a day. Files that were set aside are left to a person. Returns the names of the removed files. Throws errors of the file system.
 */
const removeUnused = (directory: string, nowSeconds: number): ReadonlyArray<string> => {
  const unused = readdirSync(directory).filter((name) => {
    if (!name.endsWith(checkpointExtension)) return false
    // Another host may remove it at the same time.
    const stat = statSync(join(directory, name), { throwIfNoEntry: false })
    return stat !== undefined && stat.mtimeMs / 1000 < nowSeconds - keptSeconds
  })
  for (const name of unused) for (const suffix of ["", "-wal"]) rmSync(join(directory, name + suffix), { force: true })
  return unused
}

/** A module asks for a checkpoint, and the host has no directory for it. */
export class StateDirectoryMissing extends Schema.TaggedError<StateDirectoryMissing>()("StateDirectoryMissing", {
  module: Schema.String,
}) {
  override get message(): string {
    return "it asks for a checkpoint, but the host has no directory for it: start reel host with --state-directory DIRECTORY"
  }
}
