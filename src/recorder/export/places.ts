/**
 * The places of exports, dry runs and answers about the past that run at once, shared fairly among clients.
 *
 * An export whose client reads slowly costs memory but no time, so there are more places than cores, and no client has all of them. A client that reads next
 * to nothing keeps its place only while there is room: two clients that read 64 KiB every 2 s once held both places of a recorder for their
 * whole hour.
 */
import { type Clock, systemClock } from "../../clock.ts"

/** Exports at once, dry runs included. The exporter runs at low priority, so more of them slow down one another and nothing else. */
export const maximumExportsAtOnce = 8

/** Of one client: an identity at an address. */
export const maximumPerClient = 4

/** s after which a client that was rejected for lack of a place may try again. */
export const retryAfterSeconds = 5

/** bytes/s below which a client is slow. A trace of 1 GB would take 4.5 hours at this pace, longer than the default limit of an export. */
const slowBytesPerSecond = 64 * 1024

/** ms of waiting for the client over which its pace is measured: this long at least, twice as long at most. */
const paceMs = 30_000

/**
 * ms of one wait from which on a client's pace is measured: until then sockets' buffers take everything, some MB at once, which would make a
 * client of 32 KiB/s look fast for minutes.
 */
const firstWaitMs = 250

/** One place, from its taking to its return. */
export interface Place {
  /** Returns it; may be called more than once. */
  readonly giveBack: () => void
  /** The client gets these bytes. To be called when it has taken them: what is returned. A place whose client gets none is never slow. */
  readonly taking: (bytes: number) => () => void
  /** Resolves when another request needs the place and the client is slow: it is given to the other one. A sentence that says so. */
  readonly needed: Promise<string>
}

interface PlaceLimits {
  readonly all: number
  readonly perClient: number
  /** Why there is no place: clauses that are followed by "which is the limit". */
  readonly allTaken: string
  readonly ownTaken: string
}

interface HeldPlace {
  readonly client: string
  readonly pace: Pace
  readonly cede: (why: string) => void
}

export class Places {
  readonly #limits: PlaceLimits
  readonly #clock: Clock
  readonly #held = new Set<HeldPlace>()

  constructor(limits: PlaceLimits, clock: Clock = systemClock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** How many are taken. */
  get count(): number {
    return this.#held.size
  }

  /** A place for a client, an identity at an address, if need be that of the slowest client; or why there is none. */
  take(client: string): Place | { readonly message: string } {
    const { all, perClient, allTaken, ownTaken } = this.#limits
    const own = [...this.#held].filter((place) => place.client === client)
    const isFull = this.count >= all
    const hasOwn = own.length >= perClient
    // A client with all of its places gets none of another's.
    if ((isFull || hasOwn) && !this.#endSlowest(hasOwn ? own : [...this.#held]))
      return { message: `${isFull ? allTaken : ownTaken}, which is the limit; try again` }
    const { promise: needed, resolve: cede } = Promise.withResolvers<string>()
    const pace = new Pace(this.#clock)
    const held: HeldPlace = { client, pace, cede }
    this.#held.add(held)
    return {
      giveBack: () => {
        if (this.#held.delete(held)) this.givenBack()
      },
      taking: (bytes) => pace.taking(bytes),
      needed,
    }
  }

  /** Called after each return. */
  protected givenBack(): void {
    // Nothing to do here.
  }

  /** Whether there was one that is slow. */
  #endSlowest(places: ReadonlyArray<HeldPlace>): boolean {
    const [slowest] = places
      .map((place) => ({ place, pace: place.pace.bytesPerSecond() }))
      .filter(({ pace }) => pace < slowBytesPerSecond)
      .sort((one, other) => one.pace - other.pace)
    if (slowest === undefined) return false
    this.#held.delete(slowest.place)
    const pace = `${Math.round(slowest.pace / 1024)} KiB/s`
    slowest.place.cede(`its client reads ${pace}, and another request needs its place`)
    return true
  }
}

/** How fast a client takes what it gets. */
class Pace {
  readonly #clock: Clock
  /** Of the running and of the previous stretch of {@link paceMs} of waiting. */
  #now: Stretch = noStretch
  #before: Stretch = noStretch
  /** ms of the longest wait that has ended: buffers are emptied in strokes, and a wait that is not longer says nothing yet. 0: nothing is measured yet. */
  #longestWaitMs = 0
  /** When the client got the bytes that it has not taken yet. */
  #waitingSince: number | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  taking(bytes: number): () => void {
    this.#waitingSince = this.#clock.monotonicMs()
    return () => this.#taken(bytes)
  }

  #taken(bytes: number): void {
    const waitedMs = this.#waitingMs()
    this.#waitingSince = undefined
    if (this.#longestWaitMs === 0 && waitedMs < firstWaitMs) return
    this.#longestWaitMs = Math.max(this.#longestWaitMs, waitedMs)
    this.#now = { bytes: this.#now.bytes + bytes, waitedMs: this.#now.waitedMs + waitedMs }
    if (this.#now.waitedMs < paceMs) return
    this.#before = this.#now
    this.#now = noStretch
  }

  #waitingMs(): number {
    return this.#waitingSince === undefined ? 0 : this.#clock.monotonicMs() - this.#waitingSince
  }

  /** While there was something for the client to take; Infinity before it was waited for long enough to tell. */
  bytesPerSecond(): number {
    const waitingMs = this.#waitingMs()
    const unusualMs = waitingMs > this.#longestWaitMs ? waitingMs : 0
    const waitedMs = this.#now.waitedMs + unusualMs + this.#before.waitedMs
    return waitedMs < paceMs ? Number.POSITIVE_INFINITY : (1000 * (this.#now.bytes + this.#before.bytes)) / waitedMs
  }
}

interface Stretch {
  readonly bytes: number
  readonly waitedMs: number
}

const noStretch: Stretch = { bytes: 0, waitedMs: 0 }

export class ExportPlaces extends Places {
  /** Default: the limits of a recorder, which has other clients to protect. */
  constructor(clock?: Clock, all = maximumExportsAtOnce, perClient = maximumPerClient) {
    super(
      {
        ...{ all, perClient },
        allTaken: `${all} exports are already running`,
        ownTaken: `${perClient} exports of this client are already running`,
      },
      clock,
    )
  }
}

/** Answers to pages at once. Each is small and takes ms to a second, and a page asks for several; people leave pages open. */
const maximumOfPages = 64

/** Of one client: some ten pages, or all people behind one proxy without tokens. */
const maximumOfPagesPerClient = 32

/** The places of what the page asks for its time line. They are not those of exports: five open pages must not keep anybody from exporting. */
export class PagePlaces extends Places {
  constructor(clock?: Clock) {
    super(
      {
        ...{ all: maximumOfPages, perClient: maximumOfPagesPerClient },
        allTaken: `${maximumOfPages} questions of pages are being answered`,
        ownTaken: `${maximumOfPagesPerClient} questions of this client's pages are being answered`,
      },
      clock,
    )
  }
}
