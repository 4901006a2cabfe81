/**
 * Reads a trace ahead of the schedule, so that a due change only has to be sent: at most {@link mostAhead} changes of
 * {@link mostAheadBytes} and one chunk. An error of the source is never lost: every later call throws it.
 */
import { messageOf } from "../../message-of.ts"
import type { OwnedLifecycles } from "../../trace/index.ts"
import type { ChangesToWrites, PlannedWrite } from "./changes-to-writes.ts"
import type { TraceChange, TracePart } from "./trace-changes.ts"

/** A change and what to do about it. */
export interface Upcoming {
  readonly change: TraceChange
  readonly planned: PlannedWrite
}

/** Gets what is read ahead. */
interface UpcomingListener {
  /** The kind of each change that is to be written. */
  readonly onKind?: (gvk: string) => void
  /** Lives of pods, which have no moment at which they would be due. */
  readonly onLives?: (owned: OwnedLifecycles) => void
}

/** How a trace begins. */
export type Beginning = Extract<TracePart, { type: "beginning" }>

/** Changes that are held; at 1,000 a second half a second of them. */
const mostAhead = 512
/** Bytes of their objects, which have 3 kB usually and 1.5 MB at most. */
const mostAheadBytes = 8_000_000

/** Call {@link UpcomingChanges.open}, then {@link UpcomingChanges.start}; then take heads as they become due. */
export class UpcomingChanges {
  readonly #parts: AsyncGenerator<ReadonlyArray<TracePart>, void>
  /** Read before the planner was known. */
  #early: TracePart[] = []
  #planner: ChangesToWrites | undefined
  #listener: UpcomingListener = {}
  #upcoming: Upcoming[] = []
  /** Index of the next one. */
  #next = 0
  /** Of the objects that have not been taken. */
  #bytes = 0
  #reading: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #isRead = false
  #end = 0
  #gaps = 0

  constructor(parts: AsyncGenerator<ReadonlyArray<TracePart>, void>) {
    this.#parts = parts
  }

  /** The first moment and the objects that exist at it. Rejects with the error of the source. */
  async open(): Promise<Beginning> {
    for (;;) {
      const beginning = this.#early.findIndex(({ type }) => type === "beginning")
      if (beginning !== -1) return this.#early.splice(beginning, 1)[0] as Beginning
      const chunk = await this.#parts.next()
      // Without an end part only a source that has thrown before ends.
      if (chunk.done === true) throw new Error("the trace ended without a beginning")
      this.#early.push(...chunk.value)
    }
  }

  /** From now on changes are planned: what the planner has to know before, it knows. */
  start(planner: ChangesToWrites, listener: UpcomingListener = {}): void {
    this.#planner = planner
    this.#listener = listener
    for (const part of this.#early.splice(0)) this.#add(part, planner)
  }

  /** SimKube's configuration, if it precedes the beginning. */
  get configurations(): ReadonlyArray<Uint8Array> {
    return this.#early.flatMap((part) => (part.type === "config" ? [part.config] : []))
  }

  /** The next change, if it has been read. */
  get head(): Upcoming | undefined {
    return this.#upcoming[this.#next]
  }

  /** Whether all changes have been taken, and there are no more. Throws the error of the source once what precedes it has been taken. */
  get isOver(): boolean {
    if (this.head !== undefined) return false
    if (this.#failure !== undefined) throw this.#failure.error
    return this.#isRead
  }

  /** µs since the Unix epoch at which the trace ends; known once {@link isOver}. */
  get end(): number {
    return this.#end
  }

  /** Gaps of the trace read so far. */
  get gaps(): number {
    return this.#gaps
  }

  /** Ends the trace at `time` (µs) although the source has not ended. Only while there is no head. */
  cutOff(time: number): void {
    this.#isRead = true
    this.#end = time
  }

  /** Removes the head. */
  take(): void {
    this.#bytes -= bytesOf(this.head)
    this.#next++
    if (this.#next < mostAhead) return
    this.#upcoming = this.#upcoming.slice(this.#next)
    this.#next = 0
  }

  /**
   * Continues to read if there is room for more. Resolves when something was read or reading has failed; `undefined`:
   * nothing is being read.
   */
  readAhead(): Promise<void> | undefined {
    if (this.#reading !== undefined) return this.#reading
    if (this.#isRead || this.#failure !== undefined || this.#isFull) return undefined
    this.#reading = this.#read().then(
      () => {
        this.#reading = undefined
      },
      (error: unknown) => {
        this.#reading = undefined
        this.#failure = { error }
      },
    )
    return this.#reading
  }

  /**
   * After the last change: reads the lives of pods that follow the window, if the source has more, until it ends or the
   * signal is aborted. What was replayed is complete by now, so it does not reject: it returns one sentence that says
   * why there may be more.
   */
  async readLives(signal: AbortSignal): Promise<string | undefined> {
    try {
      while (!signal.aborted) {
        const chunk = await this.#parts.next()
        if (chunk.done === true) return undefined
        for (const part of chunk.value) if (part.type === "lives") this.#listener.onLives?.(part.owned)
      }
      return undefined
    } catch (error) {
      return `lives of pods may be missing, because the trace cannot be read beyond the part that was replayed: ${messageOf(error)}`
    }
  }

  get #isFull(): boolean {
    return this.#upcoming.length - this.#next >= mostAhead || this.#bytes >= mostAheadBytes
  }

  /** Closes the source. Does not wait for a read under way: a pipe may be silent for ever. */
  close(): void {
    void this.#parts.return().catch(() => undefined)
  }

  async #read(): Promise<void> {
    const planner = this.#planner
    const chunk = await this.#parts.next()
    if (this.#isRead) return
    if (chunk.done === true) this.#isRead = true
    else if (planner !== undefined) for (const part of chunk.value) this.#add(part, planner)
  }

  #add(part: TracePart, planner: ChangesToWrites): void {
    switch (part.type) {
      case "config":
        return planner.configure(part.config)
      case "gap":
        this.#gaps++
        return
      case "change": {
        const planned = planner.plan(part.change)
        if (planned.tag !== "skip") this.#listener.onKind?.(part.change.gvk)
        const upcoming = { change: part.change, planned }
        this.#bytes += bytesOf(upcoming)
        this.#upcoming.push(upcoming)
        return
      }
      case "lives":
        return this.#listener.onLives?.(part.owned)
      case "end":
        this.#end = part.time
        this.#isRead = true
        return
      case "beginning":
        return
    }
  }
}

const bytesOf = (upcoming: Upcoming | undefined): number => upcoming?.change.object?.length ?? 0
