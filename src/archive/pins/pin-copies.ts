/**
 * Copies of pinned windows: directories `pins/ID` beside a recording, each a recording of its own.
 *
 * A copy is made under another name, flushed, renamed, and then noted in the row of its pin. So what has the name is whole, whenever a process ends; one that
 * is not noted yet is noted by the next writer. A copy is removed only after its pin was: a file `.ID.removed` says so. One that no pin knows stays, because the
 * recording may be an older one that was restored. While someone reads a copy under a lease, its directory stays.
 *
 * A large file takes long to be removed, and commits would wait for it: it is renamed to `.ID.gone` and removed on another thread.
 */
import {
  closeSync,
  existsSync,
  fsync,
  openSync,
  readdirSync,
  renameSync,
  rm,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { flush, makePrivateDirectory } from "../directory/private-files.ts"
import { heldLeases, makeLeases } from "../leases/lease.ts"
import { DATABASE_FILE } from "../tables/schema.ts"
import { type CopiedRecording, type CopiedWindow, copyWindow, type WindowBlocks } from "./window-copy.ts"

/** Directory of the copies in a data directory. */
export const PINS = "pins"

/** Of what is a copy that is not whole, of what says that a pin is removed, and of what is being removed. */
const namePattern = /^\.(\d{8}t\d{4}-[0-9a-f]{8})\.(partial|removed|gone)$/

/** Bytes of a file that is removed at once, which takes some ms. */
const atOnceBytes = 32 * 1024 * 1024

/** Belongs to the writer of a recording. Methods throw what the file system throws. */
export class PinCopies {
  readonly #directory: string
  #underWay: string | undefined
  /** What another thread is removing. */
  readonly #going = new Set<string>()
  /** Why it could not. */
  #refused: Error | undefined

  constructor(directory: string) {
    this.#directory = join(directory, PINS)
  }

  /** Bytes of a copy on disk; 0: there is none. */
  bytesOf(id: string): number {
    return statSync(join(this.#directory, id, DATABASE_FILE), { throwIfNoEntry: false })?.size ?? 0
  }

  /** Removes a copy that is not what it should be. Without its database it is none, wherever this is interrupted. */
  discard(id: string): void {
    this.#remove(id, id)
  }

  /** Removes what has this name, and belongs to a pin. */
  #remove(name: string, id: string): void {
    const path = join(this.#directory, name)
    const file = join(path, DATABASE_FILE)
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > atOnceBytes) {
      const gone = `.${id}.gone`
      renameSync(file, join(this.#directory, gone))
      this.#removeLater(gone)
    }
    rmSync(file, { recursive: true, force: true })
    rmSync(path, { recursive: true, force: true })
  }

  #removeLater(name: string): void {
    this.#going.add(name)
    rm(join(this.#directory, name), { force: true }, (error) => {
      this.#going.delete(name)
      this.#refused = error ?? this.#refused
    })
  }

  /** The pin is about to be removed: once it is, its copy goes too. */
  noteRemoving(id: string): void {
    if (this.bytesOf(id) > 0) writeFileSync(join(this.#directory, `.${id}.removed`), "", { mode: 0o600 })
  }

  /** Removes what is not whole, unless it is being made, and the copies of removed pins that nobody reads. Throws what was refused since the last call, too. `idsOf`: the pins that there are. `nowMicros`: µs since the Unix epoch. */
  tidy(idsOf: () => ReadonlySet<string>, nowMicros: number): void {
    if (!existsSync(this.#directory)) return
    const ids = idsOf()
    for (const name of readdirSync(this.#directory)) {
      const [, id, kind] = namePattern.exec(name) ?? []
      if (id === undefined || name === this.#underWay || this.#going.has(name)) continue
      if (kind === "gone") this.#removeLater(name)
      if (kind === "partial") this.#remove(name, id)
      if (kind !== "removed") continue
      // A pin that is there after all was not removed.
      if (!ids.has(id)) {
        if (heldLeases(join(this.#directory, id), nowMicros).length > 0) continue
        this.discard(id)
      }
      rmSync(join(this.#directory, name), { force: true })
    }
    const refused = this.#refused
    this.#refused = undefined
    if (refused !== undefined) throw refused
  }

  /**
   * Makes the copy; yields between steps of some ms. `isAlone`: nothing else is done between the steps, so it may wait for the disk.
   *
   * @throws what SQLite and the file system throw; then nothing is left of it
   */
  *make(
    recording: CopiedRecording,
    id: string,
    {
      window,
      blocks,
      isAlone,
    }: { readonly window: CopiedWindow; readonly blocks: WindowBlocks; readonly isAlone: boolean },
  ): Generator<void, void, void> {
    const name = `.${id}.partial`
    const draft = join(this.#directory, name)
    makePrivateDirectory(this.#directory)
    this.#remove(name, id)
    this.#underWay = name
    try {
      makePrivateDirectory(draft)
      makeLeases(draft)
      yield* copyWindow(recording, window, blocks, draft)
      for (const path of [join(draft, DATABASE_FILE), draft]) yield* flushed(path, isAlone)
      // What an interrupted removal left.
      this.discard(id)
      renameSync(draft, join(this.#directory, id))
      yield* flushed(this.#directory, isAlone)
    } finally {
      this.#underWay = undefined
      this.#remove(name, id)
    }
  }
}

/** Flushes a file or a directory to the disk: on another thread, unless it may be waited for here. */
function* flushed(path: string, isAlone: boolean): Generator<void, void, void> {
  if (isAlone) return flush(path)
  const descriptor = openSync(path, "r")
  const outcome: { error?: Error | null } = {}
  fsync(descriptor, (error) => {
    outcome.error = error
    closeSync(descriptor)
  })
  while (outcome.error === undefined) yield
  if (outcome.error !== null) throw outcome.error
}
