/**
 * Every request the server has accepted, in order, for tests that must show what a client did or did not do ("the other
 * kind's stream was never reopened"). Keeps the newest entries up to a limit; numbers keep counting.
 */

/** The log's name for a request that is not for an object or collection. */
export const discoveryScope = "discovery"

export interface RequestEntry {
  /** Counts from 1, never reused. */
  readonly number: number
  readonly method: string
  readonly path: string
  /** The raw query, without the question mark. */
  readonly query: string
  /** `get`, `list`, `watch`, `discovery`, or the API verb of a write. */
  readonly verb: string
  /** The plural of the requested kind; `discovery` for everything that is not an object or collection. */
  readonly resource: string
  readonly namespace: string | undefined
  readonly name: string | undefined
  readonly userAgent: string
  /** µs since the Unix epoch. */
  readonly receivedAt: number
  /** HTTP status of the response; 0 until there is one. */
  readonly status: number
}

/** Matches entries that agree in every member given. */
export type RequestFilter = Partial<Omit<RequestEntry, "receivedAt" | "number">>

interface Waiter {
  readonly filter: RequestFilter
  readonly count: number
  readonly resolve: (entries: ReadonlyArray<RequestEntry>) => void
}

export class RequestLog {
  readonly #limit: number
  #entries: Array<{ -readonly [key in keyof RequestEntry]: RequestEntry[key] }> = []
  #waiters: Waiter[] = []
  #last = 0
  #cleared = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Requests accepted since the start or the last {@link clear}, including those no longer kept. */
  get total(): number {
    return this.#last - this.#cleared
  }

  entries(filter: RequestFilter = {}): ReadonlyArray<RequestEntry> {
    return this.#entries.filter((entry) => matches(entry, filter))
  }

  count(filter: RequestFilter = {}): number {
    return this.entries(filter).length
  }

  /** Resolves with the matching entries once there are `count`, possibly at once. Never times out. */
  waitFor(filter: RequestFilter, count = 1): Promise<ReadonlyArray<RequestEntry>> {
    return new Promise((resolve) => {
      this.#waiters.push({ filter, count, resolve })
      this.#wake()
    })
  }

  clear(): void {
    this.#entries = []
    this.#cleared = this.#last
  }

  /** Adds a request. The returned function records the status of its response; only the first call counts. */
  open(entry: Omit<RequestEntry, "number" | "status">): (status: number) => void {
    const opened = { ...entry, number: ++this.#last, status: 0 }
    this.#entries.push(opened)
    // Dropping a block at a time keeps this cheap: a shift per request would move the whole array.
    if (this.#entries.length > this.#limit * 1.25)
      this.#entries = this.#entries.slice(this.#entries.length - this.#limit)
    this.#wake()
    return (status) => {
      if (opened.status !== 0) return
      opened.status = status
      this.#wake()
    }
  }

  #wake(): void {
    if (this.#waiters.length === 0) return
    this.#waiters = this.#waiters.filter(({ filter, count, resolve }) => {
      const found = this.entries(filter)
      if (found.length < count) return true
      resolve(found)
      return false
    })
  }
}

const matches = (entry: RequestEntry, filter: RequestFilter): boolean =>
  (Object.keys(filter) as Array<keyof RequestFilter>).every((key) => entry[key] === filter[key])
