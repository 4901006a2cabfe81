/**
 * A guest's standard output and error as lines for a log. Bounded: a line has at most 8 KiB, and a call of the guest writes at most 500 lines
 * and 256 KiB; what is beyond is counted, and one line at the end of the call says how much was left out. So a guest that writes for ever
 * costs its host a counter.
 */

export type GuestStream = "stdout" | "stderr"

/** Bytes of the longest line; the rest of a longer one is left out. A stack trace has one line per frame, each far shorter. */
const longestLineBytes = 8192
const linesPerCall = 500
const bytesPerCall = 256 * 1024

/** Bytes that are not UTF-8 become U+FFFD: a log is for people. */
const decoder = new TextDecoder()
const lineFeed = 10
const carriageReturn = 13

export class GuestLog {
  readonly #log: (stream: GuestStream, line: string) => void
  /** The line under way of each stream, at most `longestLineBytes` of it, and how many more it had. */
  readonly #open = {
    stdout: { bytes: Buffer.alloc(0), omitted: 0 },
    stderr: { bytes: Buffer.alloc(0), omitted: 0 },
  }
  #lines = 0
  #bytes = 0
  #omittedLines = 0

  constructor(log: (stream: GuestStream, line: string) => void) {
    this.#log = log
  }

  /** Takes all of the bytes, which may be changed afterwards. */
  write(stream: GuestStream, bytes: Uint8Array): void {
    for (let start = 0; start < bytes.length; ) {
      const found = bytes.indexOf(lineFeed, start)
      this.#append(stream, bytes.subarray(start, found < 0 ? bytes.length : found))
      if (found < 0) return
      this.#endLine(stream)
      start = found + 1
    }
  }

  /** The guest has returned: lines without an end wait for it, and the allowance of the next call begins. */
  endOfCall(): void {
    const omitted = this.#omittedLines
    this.#lines = 0
    this.#bytes = 0
    this.#omittedLines = 0
    // Last, because the host's log can fail, which the next call must not repeat.
    if (omitted > 0) this.#log("stderr", `(${omitted} more lines of this call were left out of the log)`)
  }

  /** Logs lines that have no end yet, because there will be no more. */
  flush(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      const { bytes, omitted } = this.#open[stream]
      if (bytes.length + omitted > 0) this.#endLine(stream)
    }
  }

  #append(stream: GuestStream, part: Uint8Array): void {
    const line = this.#open[stream]
    const kept = part.subarray(0, longestLineBytes - line.bytes.length)
    line.omitted += part.length - kept.length
    if (kept.length > 0) line.bytes = Buffer.concat([line.bytes, kept])
  }

  #endLine(stream: GuestStream): void {
    const { bytes, omitted } = this.#open[stream]
    this.#open[stream] = { bytes: Buffer.alloc(0), omitted: 0 }
    if (this.#lines >= linesPerCall || this.#bytes >= bytesPerCall) {
      this.#omittedLines++
      return
    }
    this.#lines++
    this.#bytes += bytes.length
    const text = decoder.decode(bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes)
    this.#log(stream, omitted === 0 ? text : `${text}… (${omitted} more bytes)`)
  }
}
