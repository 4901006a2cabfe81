/**
 * Writes log lines to a stream whose reader may be slower than the log, or may not read at all.
 *
 * Guarantees: the bytes that wait for the reader are bounded, because Node buffers a pipe that no one reads in this process's
 * memory without limit (a recorder with `-v` writes 150 bytes per event). Lines that do not fit are dropped and counted; the
 * count is reported once the reader has caught up, or at the end at the latest. Writing never blocks: a log must not hold up a
 * recording.
 */
import type { Output } from "./terminal.ts"

export interface LogSinkOptions {
  readonly stream: Pick<Output, "write" | "writableLength" | "once" | "off">
  /** Called with the number of dropped lines once there is room to log a line about them. */
  readonly dropped: (lines: number) => void
  /** Writes one line. Default: to the stream. */
  readonly write?: (line: string) => void
  /** Bytes that may wait; a line is accepted while fewer do. Default 1 MiB: thousands of lines, and little beside a recorder's memory. */
  readonly limitBytes?: number
}

export interface LogSink {
  /** Takes one line with its line break. Never blocks, and does not throw if the reader is gone. */
  readonly write: (line: string) => void
  /** Reports dropped lines that have not been reported yet. */
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
    // Once a line was dropped, drop all until the reader has caught up: one hole instead of many.
    return droppedLines === 0 ? stream.writableLength < limitBytes : stream.writableLength === 0
  }

  return {
    write(line) {
      if (hasRoom()) {
        // A stream that failed discards its buffer without emitting "drain".
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
