/**
 * A kind while recorded time runs: its state now, and its changes as they become due, delivered to listeners in order.
 *
 * It reads ahead one batch of changes at a time. The changes of the last minutes are kept for watches that resume,
 * within a bound of bytes. At a restart of the kind's history (a restored cluster) it calls `restart` of its listeners,
 * because their versions mean nothing any more.
 */
import type { ChangeRecord } from "../../apiserver/index.ts"
import type { Timer } from "../../clock.ts"
import type { Past, PastChange, PastKind } from "../past/past.ts"
import { KindState } from "../state/kind-state.ts"
import type { RecordedResource } from "../state/recorded-resource.ts"
import type { PlayClock } from "./play-clock.ts"

// The last changes of a kind, for watches that resume, within a bound of bytes; older ones are read from the past.

/** Bytes: half a minute of a busy kind, and hours of a quiet one. */
const keptBytes = 16 * 1024 * 1024

class RecentChanges {
  readonly #limit: number
  #records: ChangeRecord[] = []
  #bytes = 0
  #floor: bigint

  /** `floor`: the version from which on changes are added. `limit`: bytes. */
  constructor(floor: bigint, limit = keptBytes) {
    this.#floor = floor
    this.#limit = limit
  }

  /** Every change above this version is here. */
  get floor(): bigint {
    return this.#floor
  }

  add(record: ChangeRecord): void {
    this.#records.push(record)
    this.#bytes += sizeOf(record)
    if (this.#bytes <= this.#limit) return
    // Half at once, so that not every change moves all others. Changes that a list brought may be of any order of versions.
    const kept = this.#records.length >> 1
    for (const dropped of this.#records.splice(0, this.#records.length - kept)) {
      this.#bytes -= sizeOf(dropped)
      if (dropped.change.revision > this.#floor) this.#floor = dropped.change.revision
    }
  }

  /** In the order in which they were added. */
  after(version: bigint): ReadonlyArray<ChangeRecord> {
    return this.#records.filter(({ change }) => change.revision > version)
  }

  /** Another history begins. */
  restart(floor: bigint): void {
    this.#records = []
    this.#bytes = 0
    this.#floor = floor
  }
}

const sizeOf = ({ change, previous }: ChangeRecord): number => change.line.length + (previous?.line.length ?? 0)

interface PlayListener {
  readonly change: (record: ChangeRecord) => unknown
  /** Another history has begun: versions before it are gone. */
  readonly restart: () => unknown
}

/** Recorded time that is read at once, as real time: ms. */
const windowMs = 10_000

export class PlayedKind {
  readonly state: KindState
  readonly recent: RecentChanges
  readonly #past: Past
  readonly #kind: PastKind
  readonly #clock: PlayClock
  readonly #window: number
  readonly #listeners = new Set<PlayListener>()
  readonly #onTrouble: (error: unknown) => void
  /** Everything up to and including this moment has been read. */
  #readThrough: number
  #reading: AsyncIterator<ReadonlyArray<PastChange>> | undefined
  #ahead: ReadonlyArray<PastChange> = []
  #next = 0
  #entered: number
  #running: Promise<void> | undefined
  #timer: Timer | undefined
  #isClosed = false

  /** Loads the state now and starts to follow it. `onTrouble`: when a change cannot be read, after which the kind stands still. */
  static async start(
    past: Past,
    recorded: RecordedResource,
    clock: PlayClock,
    settings: { readonly speed: number; readonly onTrouble: (error: unknown) => void },
  ): Promise<PlayedKind> {
    const time = clock.now()
    const played = new PlayedKind(past, clock, await KindState.load(past, recorded, time), time, settings)
    await played.catchUp()
    return played
  }

  private constructor(
    past: Past,
    clock: PlayClock,
    state: KindState,
    time: number,
    { speed, onTrouble }: { readonly speed: number; readonly onTrouble: (error: unknown) => void },
  ) {
    this.state = state
    this.recent = new RecentChanges(state.version)
    this.#past = past
    this.#kind = state.recorded.kind
    this.#clock = clock
    this.#window = windowMs * 1000 * speed
    this.#readThrough = time
    this.#entered = time
    this.#onTrouble = onTrouble
  }

  /** µs since the Unix epoch: the moment of the last change that was entered, or of the loaded state. */
  get entered(): number {
    return this.#entered
  }

  /** The returned function ends the subscription. */
  listen(listener: PlayListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Resolves when everything that is due has been entered and delivered. Rejects with what reading throws. */
  catchUp(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Delivers nothing any more. */
  close(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#listeners.clear()
  }

  async #run(): Promise<void> {
    this.#timer?.cancel()
    for (;;) {
      const now = this.#clock.now()
      for (let next = this.#ahead[this.#next]; next !== undefined && next.time <= now; next = this.#ahead[this.#next]) {
        if (this.#isClosed) return
        this.#next++
        this.#enter(next)
      }
      if (this.#next < this.#ahead.length || !(await this.#readOn(now))) break
    }
    if (this.#isClosed) return
    const due = this.#ahead[this.#next]?.time ?? this.#readThrough + 1
    this.#timer = this.#clock.at(due, () => void this.catchUp().catch(this.#onTrouble))
  }

  /** Reads the next batch; `false` if nothing more is needed for now. */
  async #readOn(now: number): Promise<boolean> {
    if (this.#reading === undefined) {
      if (this.#readThrough >= this.#clock.to || this.#readThrough > now) return false
      const through = Math.min(this.#clock.to, Math.max(now, this.#readThrough) + this.#window)
      this.#reading = this.#past.changes(this.#kind.gvk, this.#readThrough, through)[Symbol.asyncIterator]()
      this.#readThrough = through
    }
    const { done, value } = await this.#reading.next()
    if (done === true) this.#reading = undefined
    this.#ahead = done === true ? [] : value
    this.#next = 0
    return true
  }

  #enter(change: PastChange): void {
    const restart = this.#kind.restarts.find(({ from }) => this.#entered <= from && from < change.time)
    this.#entered = change.time
    if (restart !== undefined) {
      this.state.restart()
      this.recent.restart(this.state.version)
      for (const { restart: tell } of [...this.#listeners]) tell()
    }
    const record = this.state.apply(change)
    if (record === undefined) return
    this.recent.add(record)
    for (const listener of this.#listeners) listener.change(record)
  }
}
