/**
 * Where watchers live: up to a number of kinds each in a worker of its own, beyond it quiet ones together and busy ones alone.
 *
 * A watcher moves when it reads much for a while, and back when it has read little for longer. A move is an orderly restart: the former life
 * delivers what it has read, the next resumes at the version that is committed, so nothing is lost and nothing recorded twice.
 *
 * When a shared thread ends (memory, an endless loop that was killed), any of its watchers may be the cause. Half of them get another thread each
 * time, so a watcher that ends its thread again and again is alone after as many times as there are bits in their number; from then on its
 * ends are counted as its own crashes.
 */
import type { Clock, Timer } from "../../clock.ts"
import type { SharedThread, SharedThreadOptions, StartThread } from "../../runtime/index.ts"

// How fast watchers read, from counters that begin again with each life.

class ByteRates {
  readonly #clock: Clock
  readonly #bytesRead: (gvk: string) => Promise<number | undefined>
  readonly #before = new Map<string, { readonly bytes: number; readonly atMs: number }>()

  constructor(clock: Clock, bytesRead: (gvk: string) => Promise<number | undefined>) {
    this.#clock = clock
    this.#bytesRead = bytesRead
  }

  /** Bytes per second since the previous call; `undefined` at the first, after a restart, and if the watcher does not respond. */
  async take(gvk: string): Promise<number | undefined> {
    const before = this.#before.get(gvk)
    const bytes = await this.#bytesRead(gvk)
    const atMs = this.#clock.monotonicMs()
    if (bytes === undefined) {
      this.#before.delete(gvk)
      return undefined
    }
    this.#before.set(gvk, { bytes, atMs })
    if (before === undefined || bytes < before.bytes || atMs <= before.atMs) return undefined
    return ((bytes - before.bytes) * 1000) / (atMs - before.atMs)
  }

  forget(gvk: string): void {
    this.#before.delete(gvk)
  }
}

export interface SharingPolicy {
  /** Up to so many watchers, each has a worker. */
  readonly aloneUpTo: number
  /** Watchers for which there is one shared thread. */
  readonly residents: number
  /** Watchers that may have moved out at a time. */
  readonly mostMoved: number
  /** ms between two looks at the shared threads. */
  readonly lookMs: number
  /** Share of time, 0 to 1, from which on a shared thread is busy, so that its watchers are measured. */
  readonly busyShare: number
  /** A watcher of a busy thread that reads at least this, and a quarter of what all of the thread read, moves out after so many looks. */
  readonly busyBytesPerSecond: number
  readonly busyLooks: number
  /** One that has moved out returns after so many looks at which it read less than this. */
  readonly calmBytesPerSecond: number
  readonly calmLooks: number
}

/** A thread as the placement needs it. */
export type PlaceForMany = Pick<SharedThread, "start" | "takeUtilisation">

interface PlacementOptions {
  readonly policy: SharingPolicy
  readonly clock: Clock
  /** Starts a worker for one watcher. */
  readonly alone: StartThread
  readonly openShared: (options: SharedThreadOptions) => PlaceForMany
  /** How many watchers there are, or will be after the change under way. */
  readonly watchers: () => number
  /** Whether the kind always has a worker of its own. */
  readonly staysAlone: (gvk: string) => boolean
  /** Bytes that the present life of the watcher has read; `undefined`: it does not respond. */
  readonly bytesRead: (gvk: string) => Promise<number | undefined>
  /** Whether the watcher may move now: in a first list it would begin again, and while the store cannot write it could not begin. */
  readonly mayMove: (gvk: string) => boolean
  /** Restarts the watcher in order; it is started where {@link Placement.startOf} then says. */
  readonly move: (gvk: string) => Promise<void>
  /** Gets one sentence for each move and split. */
  readonly told: (sentence: string) => void
}

const megabyte = 1e6

export class Placement {
  readonly #options: PlacementOptions
  readonly #rates: ByteRates
  /** By kind that has moved out: looks in a row at which it was calm. */
  readonly #moved = new Map<string, number>()
  /** By kind that lives with others. */
  readonly #shared = new Map<string, PlaceForMany>()
  readonly #threads: Array<PlaceForMany> = []
  /** By kind: looks in a row at which it was too busy for its thread. */
  readonly #busy = new Map<string, number>()
  #timer: Timer | undefined

  constructor(options: PlacementOptions) {
    this.#options = options
    this.#rates = new ByteRates(options.clock, options.bytesRead)
  }

  /** Decides for each life where it begins. */
  startOf(gvk: string): StartThread {
    return (observer) => this.#place(gvk).start(observer)
  }

  /** Forgets a kind that is no longer recorded. */
  forget(gvk: string): void {
    for (const known of [this.#moved, this.#shared, this.#busy]) known.delete(gvk)
    this.#rates.forget(gvk)
  }

  /** Looks at the threads from time to time until {@link stop}. */
  watch(): void {
    const { clock, policy } = this.#options
    this.#timer = clock.after(policy.lookMs, () => {
      void this.look().then(() => {
        if (this.#timer !== undefined) this.watch()
      })
    })
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Moves what has to move now; never rejects. */
  async look(): Promise<void> {
    for (const thread of [...this.#threads]) await this.#lookAt(thread)
    for (const gvk of [...this.#moved.keys()]) await this.#lookAtMoved(gvk)
  }

  /** Kinds with a worker of their own because they are busy. */
  get moved(): ReadonlyArray<string> {
    return [...this.#moved.keys()]
  }

  /** Shared threads that watchers live in. */
  get threads(): number {
    return new Set(this.#shared.values()).size
  }

  #place(gvk: string): { readonly start: StartThread } {
    const { policy, watchers, staysAlone, alone } = this.#options
    if (watchers() <= policy.aloneUpTo || this.#moved.has(gvk) || staysAlone(gvk)) {
      this.#shared.delete(gvk)
      return { start: alone }
    }
    const thread = this.#shared.get(gvk) ?? this.#roomiest(Math.ceil(watchers() / policy.residents))
    this.#shared.set(gvk, thread)
    return thread
  }

  #roomiest(wanted: number): PlaceForMany {
    if (this.#threads.length < wanted) return this.#open()
    const populations = this.#threads.map((thread) => this.#residentsOf(thread).length)
    return this.#threads[populations.indexOf(Math.min(...populations))] ?? this.#open()
  }

  #open(): PlaceForMany {
    const thread: PlaceForMany = this.#options.openShared({ onLost: (reason) => this.#split(thread, reason) })
    this.#threads.push(thread)
    return thread
  }

  #residentsOf(thread: PlaceForMany): ReadonlyArray<string> {
    return [...this.#shared].flatMap(([gvk, place]) => (place === thread ? [gvk] : []))
  }

  #split(thread: PlaceForMany, reason: string): void {
    const residents = this.#residentsOf(thread)
    if (residents.length < 2) return
    const leaving = residents.slice(Math.ceil(residents.length / 2))
    const other = this.#open()
    for (const gvk of leaving) this.#shared.set(gvk, other)
    this.#options.told(
      `a thread of ${residents.length} watchers ended and they are restarted, in two: ${reason.split("\n", 1)[0]}`,
    )
  }

  async #lookAt(thread: PlaceForMany): Promise<void> {
    const { policy } = this.#options
    const utilisation = thread.takeUtilisation()
    const residents = this.#residentsOf(thread)
    const busiest =
      utilisation < policy.busyShare || residents.length < 2 ? undefined : await this.#busiestOf(residents)
    for (const gvk of residents) if (gvk !== busiest?.gvk) this.#busy.delete(gvk)
    if (busiest === undefined) return
    const { gvk, bytesPerSecond } = busiest
    const looks = (this.#busy.get(gvk) ?? 0) + 1
    this.#busy.set(gvk, looks)
    if (looks < policy.busyLooks || this.#moved.size >= policy.mostMoved || !this.#options.mayMove(gvk)) return
    this.#busy.delete(gvk)
    this.#moved.set(gvk, 0)
    this.#shared.delete(gvk)
    this.#options.told(
      `${gvk} moves to a worker of its own: it reads ${(bytesPerSecond / megabyte).toFixed(1)} MB/s in a shared one`,
    )
    await this.#move(gvk)
  }

  async #busiestOf(
    residents: ReadonlyArray<string>,
  ): Promise<{ readonly gvk: string; readonly bytesPerSecond: number } | undefined> {
    const rates = await Promise.all(
      residents.map(async (gvk) => ({ gvk, bytesPerSecond: (await this.#rates.take(gvk)) ?? 0 })),
    )
    const total = rates.reduce((sum, { bytesPerSecond }) => sum + bytesPerSecond, 0)
    const [busiest] = rates.toSorted((one, other) => other.bytesPerSecond - one.bytesPerSecond)
    if (busiest === undefined || busiest.bytesPerSecond < this.#options.policy.busyBytesPerSecond) return undefined
    return busiest.bytesPerSecond * 4 < total ? undefined : busiest
  }

  async #lookAtMoved(gvk: string): Promise<void> {
    const { policy, mayMove, watchers, told } = this.#options
    const rate = await this.#rates.take(gvk)
    const looks = rate !== undefined && rate < policy.calmBytesPerSecond ? (this.#moved.get(gvk) ?? 0) + 1 : 0
    if (!this.#moved.has(gvk)) return
    this.#moved.set(gvk, looks)
    if (looks < policy.calmLooks || watchers() <= policy.aloneUpTo || !mayMove(gvk)) return
    this.#moved.delete(gvk)
    told(`${gvk} returns to a shared worker: it reads little now`)
    await this.#move(gvk)
  }

  async #move(gvk: string): Promise<void> {
    this.#rates.forget(gvk)
    await this.#options.move(gvk)
  }
}

/** Derived in docs/decisions/0040-quiet-kinds-share-workers.md. */
export const defaultSharing: SharingPolicy = {
  aloneUpTo: 8,
  residents: 32,
  mostMoved: 8,
  lookMs: 5000,
  busyShare: 0.25,
  busyBytesPerSecond: 1_000_000,
  busyLooks: 2,
  calmBytesPerSecond: 100_000,
  calmLooks: 60,
}
