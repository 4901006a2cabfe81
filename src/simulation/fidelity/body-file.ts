/**
 * Texts that are written while a replay runs and read in any order afterwards: on disk, so that a trace larger than memory can be compared.
 *
 * The file has no name: it is unlinked as soon as it is open, so that not even SIGKILL leaves it behind. Appending copies into a buffer of
 * 256 KiB; the system's page cache takes that in some 0.1 ms.
 */
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Where a text is. */
export interface BodyRange {
  readonly offset: number
  readonly length: number
}

const bufferBytes = 256 * 1024

/** Every method may throw the file system's error. */
export class BodyFile implements Disposable {
  readonly #file: number
  readonly #buffer = Buffer.allocUnsafe(bufferBytes)
  #buffered = 0
  #written = 0

  /** In `directory`; default: the system's directory for temporary files. */
  constructor(directory: string = tmpdir()) {
    const folder = mkdtempSync(join(directory, "kubereel-"))
    try {
      this.#file = openSync(join(folder, "bodies"), "wx+", 0o600)
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  append(body: Uint8Array | string): BodyRange {
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const range = { offset: this.#written + this.#buffered, length: bytes.length }
    if (bytes.length > bufferBytes - this.#buffered) this.#flush()
    if (bytes.length > bufferBytes) this.#write(bytes)
    else {
      this.#buffer.set(bytes, this.#buffered)
      this.#buffered += bytes.length
    }
    return range
  }

  read({ offset, length }: BodyRange): Buffer {
    this.#flush()
    const bytes = Buffer.allocUnsafe(length)
    for (let done = 0; done < length; ) {
      const count = readSync(this.#file, bytes, done, length - done, offset + done)
      if (count === 0) throw new Error(`the file of bodies ends before byte ${offset + length}`)
      done += count
    }
    return bytes
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
  }

  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#buffered)
    this.#buffered = 0
    this.#write(bytes)
  }

  #write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) done += writeSync(this.#file, bytes, done)
    this.#written += bytes.length
  }
}
