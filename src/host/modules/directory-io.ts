/** What is needed of the file system to read a directory of modules; injected, so that tests can fail and change it. */
import { watch } from "node:fs"
import { open, readdir, stat } from "node:fs/promises"

/** Rejects with errors of the operating system (`code`). */
export interface DirectoryIo {
  /** The names in a directory. */
  list(directory: string): Promise<ReadonlyArray<string>>
  /** A text that differs whenever the file's content may differ. */
  signature(path: string): Promise<string>
  /** At most `limit` bytes from the beginning. */
  read(path: string, limit: number): Promise<Uint8Array>
  /** Calls `changed` for any event in a directory, and `failed` once it can no longer watch; returns a function that stops it. May throw. */
  watch(directory: string, changed: () => void, failed: () => void): () => void
}

/** The file system. The watch does not keep the process alive. */
export const fileSystem: DirectoryIo = {
  list: (directory) => readdir(directory),
  signature: async (path) => {
    // The time of the last change of the inode too: a file may be replaced by one of the same size and an older time.
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [dev, ino, size, mtimeNs, ctimeNs].join(" ")
  },
  read: async (path, limit) => {
    // Not `await using`: Node 22, which runs these sources too, does not know it.
    const handle = await open(path, "r")
    try {
      const { size } = await handle.stat()
      const buffer = Buffer.alloc(Math.min(limit, size + 1))
      let length = 0
      while (length < buffer.length) {
        const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null)
        if (bytesRead === 0) break
        length += bytesRead
      }
      return buffer.subarray(0, length)
    } finally {
      await handle.close()
    }
  },
  watch: (directory, changed, failed) => {
    const watcher = watch(directory, { persistent: false }, changed)
    watcher.on("error", failed)
    return () => watcher.close()
  },
}

/** `ENOENT`, `EACCES`, …, or the message of an error without a code. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : String(cause)
