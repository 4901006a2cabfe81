/**
 * The open streams of a session: closes them, pauses their reading, and detects silent ones, measured in bytes, and
 * streaming lists whose end is overdue. Neither is measured while the reader is paused.
 */
import type { Clock } from "../../../clock.ts"
import type { HttpStream } from "../../http/transport.ts"
import type { StreamId } from "../protocol/protocol.ts"
import type { StreamReader } from "./stream-reader.ts"

// Notices that a number no longer grows. The number is looked at a few times per limit, because reading the clock whenever it grows would cost more
// than noticing a quarter late.

const looksPerLimit = 4

class Standstill {
  readonly #clock: Pick<Clock, "after">
  readonly #read: () => number
  readonly #stands: () => void
  #limitMs = Number.POSITIVE_INFINITY
  #seen = 0
  /** Looks since then that found the same number. */
  #looks = 0
  #timer: { cancel(): void } | undefined

  /** `stands` is called once for each limit that passes without growth. */
  constructor(clock: Pick<Clock, "after">, read: () => number, stands: () => void) {
    this.#clock = clock
    this.#read = read
    this.#stands = stands
  }

  /** Replaces an earlier limit and restarts the measurement. Infinite: none. */
  limit(ms: number): void {
    this.#limitMs = ms
    this.restart()
  }

  /** Measures from now on. */
  restart(): void {
    this.pause()
    if (!Number.isFinite(this.#limitMs)) return
    this.#seen = this.#read()
    this.#looks = 0
    this.#lookAgain()
  }

  /** Until {@link restart} or {@link limit}. */
  pause(): void {
    this.#timer?.cancel()
  }

  #lookAgain(): void {
    this.#timer = this.#clock.after(this.#limitMs / looksPerLimit, () => {
      const now = this.#read()
      this.#looks = now === this.#seen ? this.#looks + 1 : 0
      this.#seen = now
      if (this.#looks >= looksPerLimit) this.#stands()
      else this.#lookAgain()
    })
  }
}

interface OpenStream {
  readonly reader: StreamReader
  readonly http: HttpStream
  readonly silence: Standstill
  /** The wait for a streaming list's end. */
  readonly stall: Standstill
  /** Whether the sink has ever blocked this stream. */
  wasBlocked: boolean
}

/** At most a few streams; every method does nothing for a stream that is not open. */
export class OpenStreams {
  readonly #clock: Clock
  readonly #silent: (stream: StreamId) => void
  readonly #stalled: (stream: StreamId) => void
  readonly #open = new Map<StreamId, OpenStream>()

  /** `silent` and `stalled` are called once for each limit that a stream exceeds; the stream stays open. */
  constructor(clock: Clock, silent: (stream: StreamId) => void, stalled: (stream: StreamId) => void) {
    this.#clock = clock
    this.#silent = silent
    this.#stalled = stalled
  }

  add(stream: StreamId, reader: StreamReader, http: HttpStream): void {
    const bytes = (): number => http.bytesReceived
    this.#open.set(stream, {
      reader,
      http,
      silence: new Standstill(this.#clock, bytes, () => this.#silent(stream)),
      // Nothing that comes meanwhile prolongs it.
      stall: new Standstill(
        this.#clock,
        () => 0,
        () => this.#stalled(stream),
      ),
      wasBlocked: false,
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
    this.#open.get(stream)?.silence.limit(ms)
  }

  /** Limits the wait for the end of a streaming list, whatever else it brings. */
  limitStall(stream: StreamId, ms: number): void {
    this.#open.get(stream)?.stall.limit(ms)
  }

  /** The streaming list is complete. */
  liftStallLimit(stream: StreamId): void {
    this.limitStall(stream, Number.POSITIVE_INFINITY)
  }

  /** Stops reading until {@link resume}. */
  block(): void {
    for (const open of this.#open.values()) {
      open.http.pause()
      open.wasBlocked = true
      // A stream that is not read is silent because of us.
      open.silence.pause()
      open.stall.pause()
    }
  }

  resume(): void {
    for (const open of this.#open.values()) {
      open.http.resume()
      open.silence.restart()
      open.stall.restart()
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
    const open = this.#open.get(stream)
    open?.silence.pause()
    open?.stall.pause()
    this.#open.delete(stream)
  }

  get all(): ReadonlyArray<StreamId> {
    return [...this.#open.keys()]
  }
}
