/**
 * A spool stores bytes in order until they are read: the middle of a file whose beginning (the counts) is known only at its end, or what
 * arrives before it is needed. A file spool does not use more memory as it grows; it uses disk, and a full disk is a {@link SpoolError}, never a short file.
 */

import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Schema from "effect/Schema"

/** Synchronous because it is used by an encoder in a worker of its own. */
export interface Spool extends Disposable {
  /** Bytes appended so far. */
  readonly length: number
  /** Keeps a copy of the bytes. Throws SpoolError. */
  append(bytes: Uint8Array): void
  /**
   * What has been appended, in pieces of at most 64 KiB; a piece is valid until the next is taken. `from`: bytes to leave out, by default
   * none. Throws SpoolError.
   */
  read(from?: number): Iterable<Uint8Array>
  /** A copy of `length` bytes at a place, all of which have been appended. Throws SpoolError. */
  copyOf(start: number, length: number): Buffer
}

/** The file of a spool cannot be created, written or read. */
export class SpoolError extends Schema.TaggedError<SpoolError>()("SpoolError", {
  operation: Schema.Literals(["create", "append", "read"]),
  directory: Schema.String,
  /** The system's code, such as ENOSPC. */
  code: Schema.String,
}) {
  override get message(): string {
    const problem = `cannot ${this.operation} the spool file in ${this.directory}: ${this.code}`
    return fullDisk.has(this.code) ? `${problem}. The disk is full: free some space there` : problem
  }
}

/** No space left, or the user's quota is used up. */
const fullDisk: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"])

const PIECE_BYTES = 64 * 1024

/** A spool in memory: for tests and for small traces. */
export const memorySpool = (): Spool => {
  const kept: Uint8Array[] = []
  let length = 0
  return {
    get length() {
      return length
    },
    append: (bytes) => {
      if (bytes.length > 0) kept.push(new Uint8Array(bytes))
      length += bytes.length
    },
    *read(from = 0) {
      let before = 0
      for (const bytes of kept) {
        for (let start = Math.max(0, from - before); start < bytes.length; start += PIECE_BYTES)
          yield bytes.subarray(start, start + PIECE_BYTES)
        before += bytes.length
      }
    },
    copyOf(start, length) {
      const copy = Buffer.allocUnsafe(length)
      let filled = 0
      for (const piece of this.read(start)) {
        if (filled === length) break
        copy.set(piece.subarray(0, length - filled), filled)
        filled = Math.min(length, filled + piece.length)
      }
      return copy
    },
    [Symbol.dispose]: () => {
      kept.length = 0
    },
  }
}

/**
 * A spool in a file without a name: it is unlinked as soon as it is open, so that neither a crash nor SIGKILL leaves it behind. `directory`
 * must exist; it should be on a disk, not in memory.
 * @throws SpoolError (`create`)
 */
export const fileSpool = (directory: string): Spool => {
  const guarded = <A>(operation: SpoolError["operation"], run: () => A): A => {
    try {
      return run()
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
      throw new SpoolError({ operation, directory, code })
    }
  }
  const file = guarded("create", () => {
    const folder = mkdtempSync(join(directory, "spool-"))
    try {
      return openSync(join(folder, "events"), "wx+", 0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
  let length = 0
  return {
    get length() {
      return length
    },
    append: (bytes) =>
      guarded("append", () => {
        // A write may store only a part of the bytes (on a nearly full disk).
        for (let start = 0; start < bytes.length; ) {
          const written = writeSync(file, bytes, start, bytes.length - start, length)
          start += written
          length += written
        }
      }),
    *read(from = 0) {
      const piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
      for (let start = from; start < length; ) {
        const count = guarded("read", () => readSync(file, piece, 0, Math.min(PIECE_BYTES, length - start), start))
        if (count === 0)
          throw new SpoolError({ operation: "read", directory, code: "the file is shorter than written" })
        yield piece.subarray(0, count)
        start += count
      }
    },
    copyOf: (start, length) => {
      const copy = Buffer.allocUnsafe(length)
      for (let filled = 0; filled < length; ) {
        const count = guarded("read", () => readSync(file, copy, filled, length - filled, start + filled))
        if (count === 0)
          throw new SpoolError({ operation: "read", directory, code: "the file is shorter than written" })
        filled += count
      }
      return copy
    },
    [Symbol.dispose]: () => closeSync(file),
  }
}

/**
 * A spool that continues in a reserve when it cannot be created or is full: a file system without room may still create
 * files. What it has is copied once.
 * @throws SpoolError if the reserve fails as well
 */
export const spoolWithReserve = (make: () => Spool, makeReserve: () => Spool): Spool => {
  let isReserve = false
  const begin = (): Spool => {
    try {
      return make()
    } catch (error) {
      return reserveAfter(error)
    }
  }
  /** `length`: bytes to copy from the full one, which may have taken a part of those that did not fit. */
  const reserveAfter = (error: unknown, full?: Spool, length = 0): Spool => {
    if (!(error instanceof SpoolError) || isReserve) throw error
    isReserve = true
    const reserve = makeReserve()
    try {
      for (const piece of full?.read() ?? []) reserve.append(piece.subarray(0, length - reserve.length))
    } catch (cause) {
      reserve[Symbol.dispose]()
      throw cause
    }
    full?.[Symbol.dispose]()
    return reserve
  }
  let spool = begin()
  return {
    get length() {
      return spool.length
    },
    append: (bytes) => {
      const { length } = spool
      try {
        spool.append(bytes)
      } catch (error) {
        spool = reserveAfter(error, spool, length)
        spool.append(bytes)
      }
    },
    read: (from) => spool.read(from),
    copyOf: (start, length) => spool.copyOf(start, length),
    [Symbol.dispose]: () => spool[Symbol.dispose](),
  }
}
