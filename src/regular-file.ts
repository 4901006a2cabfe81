/**
 * Reads small files that are read again and again, such as tokens.
 *
 * A plain `readFile` of a named pipe waits for ever on one of the four threads that Node has for files; four requests with such a token file
 * stopped all file access of the process.
 */
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import * as Schema from "effect/Schema"

/** bytes; tokens and certificates have a few thousand. */
const maximumBytes = 1024 * 1024

/** The path is no file, or too large a file, to be read at any time. */
export class UnusualFileError extends Schema.TaggedError<UnusualFileError>()("UnusualFileError", {
  path: Schema.String,
  /** `is a directory`: without the path. */
  reason: Schema.String,
}) {
  override get message(): string {
    return `${this.path} ${this.reason}`
  }
}

/** Rejects with {@link UnusualFileError}, or with the system's error. Never waits. */
export const readRegularFile = async (path: string): Promise<string> => {
  // Without O_NONBLOCK, opening a pipe waits until another process writes to it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    if (!stats.isFile())
      throw new UnusualFileError({ path, reason: stats.isDirectory() ? "is a directory" : "is not a regular file" })
    if (stats.size > maximumBytes) {
      const reason = `has ${stats.size} bytes; at most ${maximumBytes} are allowed`
      throw new UnusualFileError({ path, reason })
    }
    return await file.readFile("utf8")
  } finally {
    await file.close()
  }
}
