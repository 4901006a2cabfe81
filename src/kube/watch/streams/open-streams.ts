/**
 * The open streams of a session: closes them, pauses their reading, and detects those that have become silent.
 *
 * Silence is measured in bytes, including those of incomplete lines, and not while the reader itself is paused.
 */
import type { Clock } from "../../../clock.ts"
import type { HttpStream } from "../../http/response-handler.ts"
import type { StreamId } from "../protocol/protocol.ts"
import type { StreamReader } from "./stream-reader.ts"

/** Checks per limit: reading the clock at every network read would cost more than noticing silence a quarter late. */
const checksPerLimit = 4

interface OpenStream {
  readonly reader: StreamReader
  readonly http: HttpStream
  /** Monotonic ms without a byte after which the stream is dead. */
  silenceMs: number
  /** The byte count at the last check, and the number of checks since then without more bytes. */
  bytesSeen: number
  quietChecks: number
  /** Whether the sink has ever blocked this stream. */
  wasBlocked: boolean
  timer: { cancel(): void } | undefined
}

/** At most a few streams; every method does nothing for a stream that is not open. */
export class OpenStreams {
  readonly #clock: Clock
  readonly #silent: (stream: StreamId) => void
  readonly #open = new Map<StreamId, OpenStream>()

  /** `silent` is called once for each limit that a stream exceeds; the stream stays open. */
  constructor(clock: Clock, silent: (stream: StreamId) => void) {
    this.#clock = clock
    this.#silent = silent
  }

  add(stream: StreamId, reader: StreamReader, http: HttpStream): void {
    const silenceMs = Number.POSITIVE_INFINITY
    this.#open.set(stream, {
      reader,
      http,
      silenceMs,
      bytesSeen: 0,
      quietChecks: 0,
      wasBlocked: false,
      timer: undefined,
    })
  }

  has(stream: StreamId): boolean {
    return this.#open.has(stream)
  }

  /** Whether the stream was ever blocked. */
  wasBlocked(stream: StreamId): boolean {
    return this.#open.get(stream)?.wasBlocked === true
  }

  /** Replaces an earlier limit and restarts the measurement. */
  limitSilence(stream: StreamId, ms: number): void {
    const open = this.#open.get(stream)
    if (open === undefined) return
    open.silenceMs = ms
    this.#watchSilence(stream, open)
  }

  /** Stops reading until {@link resume}. */
  block(): void {
    for (const open of this.#open.values()) {
      open.http.pause()
      open.wasBlocked = true
      // A stream that is not read is silent because of us.
      open.timer?.cancel()
    }
  }

  resume(): void {
    for (const [stream, open] of this.#open) {
      open.http.resume()
      this.#watchSilence(stream, open)
    }
  }

  /** Ends a stream, which reports nothing more, not even the rest of the present read. False if it was not open. */
  close(stream: StreamId): boolean {
    const open = this.#open.get(stream)
    if (open === undefined) return false
    this.forget(stream)
    open.reader.disown()
    open.http.abort()
    return true
  }

  /** The stream has ended by itself. */
  forget(stream: StreamId): void {
    this.#open.get(stream)?.timer?.cancel()
    this.#open.delete(stream)
  }

  get all(): ReadonlyArray<StreamId> {
    return [...this.#open.keys()]
  }

  #watchSilence(stream: StreamId, open: OpenStream): void {
    open.timer?.cancel()
    if (!Number.isFinite(open.silenceMs)) return
    open.bytesSeen = open.http.bytesReceived
    open.quietChecks = 0
    this.#lookAgain(stream, open)
  }

  #lookAgain(stream: StreamId, open: OpenStream): void {
    open.timer = this.#clock.after(open.silenceMs / checksPerLimit, () => {
      const received = open.http.bytesReceived
      open.quietChecks = received === open.bytesSeen ? open.quietChecks + 1 : 0
      open.bytesSeen = received
      if (open.quietChecks >= checksPerLimit) this.#silent(stream)
      else this.#lookAgain(stream, open)
    })
  }
}
