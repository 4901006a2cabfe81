/**
 * The streams a session has open: closing them, holding their reading back, and noticing the ones that have gone silent.
 *
 * Silence is measured in bytes, also those of lines not yet complete, and not while the reader itself holds back.
 */
import type { Clock } from "../../../clock.ts"
import type { HttpStream } from "../../http/response-handler.ts"
import type { StreamId } from "../protocol/protocol.ts"
import type { StreamReader } from "./stream-reader.ts"

/** Looks per limit: a clock reading per network read would cost more than being late by a quarter. */
const looksPerSilence = 4

interface OpenStream {
  readonly reader: StreamReader
  readonly http: HttpStream
  /** Monotonic ms without a byte after which it is dead. */
  silenceMs: number
  /** Bytes when that was last looked at, and the looks since that found none more. */
  bytesSeen: number
  quietLooks: number
  /** The sink has stopped the reading of it at some time. */
  wasBlocked: boolean
  timer: { cancel(): void } | undefined
}

/** At most a few streams; every method is harmless for one that is not open. */
export class OpenStreams {
  readonly #clock: Clock
  readonly #silent: (stream: StreamId) => void
  readonly #open = new Map<StreamId, OpenStream>()

  /** `silent` is called once per limit that a stream exceeds; the stream stays open. */
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
      quietLooks: 0,
      wasBlocked: false,
      timer: undefined,
    })
  }

  has(stream: StreamId): boolean {
    return this.#open.has(stream)
  }

  /** Whether the reading of it was ever held back. */
  wasBlocked(stream: StreamId): boolean {
    return this.#open.get(stream)?.wasBlocked === true
  }

  /** Replaces an earlier limit, and starts it anew. */
  limitSilence(stream: StreamId, ms: number): void {
    const open = this.#open.get(stream)
    if (open === undefined) return
    open.silenceMs = ms
    this.#watchSilence(stream, open)
  }

  /** Reads nothing until {@link resume}. */
  block(): void {
    for (const open of this.#open.values()) {
      open.http.pause()
      open.wasBlocked = true
      // A stream that is not read is silent by our own doing.
      open.timer?.cancel()
    }
  }

  resume(): void {
    for (const [stream, open] of this.#open) {
      open.http.resume()
      this.#watchSilence(stream, open)
    }
  }

  /** Ends a stream, which says nothing any more, not even the rest of the present read. False if it was not open. */
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
    open.quietLooks = 0
    this.#lookAgain(stream, open)
  }

  #lookAgain(stream: StreamId, open: OpenStream): void {
    open.timer = this.#clock.after(open.silenceMs / looksPerSilence, () => {
      const received = open.http.bytesReceived
      open.quietLooks = received === open.bytesSeen ? open.quietLooks + 1 : 0
      open.bytesSeen = received
      if (open.quietLooks >= looksPerSilence) this.#silent(stream)
      else this.#lookAgain(stream, open)
    })
  }
}
