/**
 * The places of exports, dry runs and answers about the past that run at once, shared fairly among clients.
 *
 * An export whose client reads slowly costs memory but no time, so there are more places than cores, and no client has all of them. A client that reads next
 * to nothing keeps its place only while there is room: two clients that read 64 KiB every 2 s once held both places of a recorder for their
 * whole hour.
 */
import type { Clock } from "../../clock.ts"

/** Exports at once, dry runs included. The exporter runs at low priority, so more of them slow down one another and nothing else. */
export const maximumExportsAtOnce = 8

/** Of one client: an identity at an address. */
export const maximumPerClient = 4

/** s after which a client that was rejected for lack of a place may try again. */
export const retryAfterSeconds = 5

/**
 * bytes/s below which a client is slow. A trace of 1 GB would take 4.5 hours at this pace, longer than the default limit of an export.
 */
const slowBytesPerSecond = 64 * 1024

/** ms of waiting for the client over which its pace is measured. */
const paceMs = 30_000

/**
 * ms of one wait from which on a client's pace is measured: until then sockets' buffers take everything, some MB at once, which would make a
 * client of 32 KiB/s look fast for minutes.
 */
const firstWaitMs = 250

/** One place, from its taking to its return. */
export interface ExportPlace {
  /** Returns it; may be called more than once. */
  giveBack(): void
  /** Measures how long the client takes these bytes. */
  taking(bytes: number): { taken(): void }
  /** Aborted when another export needs the place and the client is slow; the reason is a sentence. */
  readonly needed: AbortSignal
}

/** Why there is no place. */
interface NoPlace {
  readonly message: string
}

export class ExportPlaces {
  readonly #clock: Clock
  readonly #held = new Set<HeldPlace>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  take(client: string): ExportPlace | NoPlace {
    const own = [...this.#held].filter((place) => place.client === client)
    const isAllTaken = this.#held.size >= maximumExportsAtOnce
    if (isAllTaken || own.length >= maximumPerClient) {
      const slowest = slowestOf(isAllTaken ? [...this.#held] : own)
      if (slowest === undefined) {
        const message = isAllTaken
          ? `${maximumExportsAtOnce} exports are already running, which is the limit; try again`
          : `${maximumPerClient} exports of this client are already running, which is the limit; try again`
        return { message }
      }
      this.#held.delete(slowest)
      slowest.cede()
    }
    const place = new HeldPlace(client, this.#clock, (given) => this.#held.delete(given))
    this.#held.add(place)
    return place
  }
}

class HeldPlace implements ExportPlace {
  readonly client: string
  readonly #clock: Clock
  readonly #release: (place: HeldPlace) => void
  readonly #needed = new AbortController()
  /** Of the running and of the previous stretch of {@link paceMs} of waiting. */
  #now: Stretch = noStretch
  #before: Stretch = noStretch
  /** Whether the client has been waited for since the buffers between are full. */
  #isMeasured = false
  /** ms of the longest wait that has ended: buffers are emptied in strokes, and a wait that is not longer says nothing yet. */
  #longestWaitMs = 0
  /** When the client got the bytes that it has not taken yet. */
  #waitingSince: number | undefined

  constructor(client: string, clock: Clock, release: (place: HeldPlace) => void) {
    this.client = client
    this.#clock = clock
    this.#release = release
  }

  get needed(): AbortSignal {
    return this.#needed.signal
  }

  giveBack(): void {
    this.#release(this)
  }

  taking(bytes: number): { taken(): void } {
    this.#waitingSince = this.#clock.monotonicMs()
    return { taken: () => this.#taken(bytes) }
  }

  #taken(bytes: number): void {
    const waitedMs = this.#waitingMs()
    this.#waitingSince = undefined
    if (!this.#isMeasured && waitedMs < firstWaitMs) return
    this.#isMeasured = true
    this.#longestWaitMs = Math.max(this.#longestWaitMs, waitedMs)
    this.#now = { bytes: this.#now.bytes + bytes, waitedMs: this.#now.waitedMs + waitedMs }
    if (this.#now.waitedMs < paceMs) return
    this.#before = this.#now
    this.#now = noStretch
  }

  #waitingMs(): number {
    return this.#waitingSince === undefined ? 0 : this.#clock.monotonicMs() - this.#waitingSince
  }

  /** bytes/s while there was something for the client to take; `undefined` before it was waited for long enough to tell. */
  pace(): number | undefined {
    const waitingMs = this.#waitingMs()
    const unusualMs = waitingMs > this.#longestWaitMs ? waitingMs : 0
    const waitedMs = this.#now.waitedMs + unusualMs + this.#before.waitedMs
    return waitedMs < paceMs ? undefined : (1000 * (this.#now.bytes + this.#before.bytes)) / waitedMs
  }

  cede(): void {
    const pace = `${Math.round((this.pace() ?? 0) / 1024)} KiB/s`
    this.#needed.abort(`its client reads ${pace}, and another export needs its place`)
  }
}

interface Stretch {
  readonly bytes: number
  readonly waitedMs: number
}

const noStretch: Stretch = { bytes: 0, waitedMs: 0 }

const slowestOf = (places: ReadonlyArray<HeldPlace>): HeldPlace | undefined => {
  const slow = places.flatMap((place) => {
    const pace = place.pace()
    return pace === undefined || pace >= slowBytesPerSecond ? [] : [{ place, pace }]
  })
  return slow.sort((one, other) => one.pace - other.pace)[0]?.place
}
