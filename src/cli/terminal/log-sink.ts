/**
 * Where log lines go: a stream whose reader may be slower than what is said, or may not read at all.
 *
 * Guarantees: what waits for the reader is bounded by bytes, because a pipe that nobody reads is buffered by Node in this
 * process's memory without end (a recorder with `-v` writes 150 bytes for each event). What does not fit is dropped
 * and counted; the count is told when the reader has caught up, and at the latest at the end. Nobody is kept waiting: a log
 * must not hold up a recording.
 */
import type { Output } from "./terminal.ts"

export interface LogSinkOptions {
  readonly stream: Pick<Output, "write" | "writableLength" | "once" | "off">
  /** Called after lines were dropped, with their number, when there is room to say so: to write a line about it. */
  readonly dropped: (lines: number) => void
  /** Does the writing of one line. Default: into the stream. */
  readonly write?: (line: string) => void
  /** Bytes that may wait; a line passes while fewer do. Default 1 MiB: some thousands of lines, and nothing beside the memory of a recorder. */
  readonly limitBytes?: number
}

export interface LogSink {
  /** One line with its line break. Never waits, never throws for a reader that is gone. */
  readonly write: (line: string) => void
  /** Says what was dropped and not told yet. */
  readonly close: () => void
}

export const createLogSink = (options: LogSinkOptions): LogSink => {
  const { stream, limitBytes = 1024 * 1024, write = (line) => void stream.write(line) } = options
  let droppedLines = 0
  let isClosing = false

  const tell = (): void => {
    stream.off("drain", tell)
    const lines = droppedLines
    droppedLines = 0
    if (lines > 0) options.dropped(lines)
  }
  const hasRoom = (): boolean => {
    if (isClosing) return true
    // Once lines are missing, all are until the reader has taken everything: one hole, not one between any two lines.
    return droppedLines === 0 ? stream.writableLength < limitBytes : stream.writableLength === 0
  }

  return {
    write(line) {
      if (hasRoom()) {
        // A stream that failed forgets what it held without saying that it drained.
        if (droppedLines > 0) tell()
        write(line)
      } else if (droppedLines++ === 0) stream.once("drain", tell)
    },
    close() {
      isClosing = true
      tell()
    },
  }
}
