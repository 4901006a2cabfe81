/**
 * Reads a trace ahead of the schedule: changes are parsed and rewritten before they are due, so that a due change only has to be sent.
 *
 * At most {@link mostAhead} changes and one chunk of the trace are held; a trace that comes from a slow pipe delays only what has not been
 * read.
 */
import type { ChangesToWrites, PlannedWrite } from "./changes-to-writes.ts"
import type { TraceChange, TracePart } from "./trace-changes.ts"

/** A change and what to do about it. */
export interface Upcoming {
  readonly change: TraceChange
  readonly planned: PlannedWrite
}

/** Changes that are held; at 1,000 a second half a second of them. */
const mostAhead = 512

export class UpcomingChanges {
  readonly #parts: AsyncGenerator<ReadonlyArray<TracePart>, void>
  readonly #planner: ChangesToWrites
  #upcoming: Upcoming[] = []
  /** Index of the next one. */
  #next = 0
  #beginning: { readonly time: number; readonly seed: ReadonlyArray<Upcoming> } | undefined
  #reading: Promise<void> | undefined
  #isRead = false
  #end = 0
  #gaps = 0

  constructor(parts: AsyncGenerator<ReadonlyArray<TracePart>, void>, planner: ChangesToWrites) {
    this.#parts = parts
    this.#planner = planner
  }

  /** The first moment and the objects that exist at it. Rejects with the error of the source. */
  async beginning(): Promise<{ readonly time: number; readonly seed: ReadonlyArray<Upcoming> }> {
    while (this.#beginning === undefined && !this.#isRead) await this.#read()
    return this.#beginning ?? { time: 0, seed: [] }
  }

  /** The next change, if it has been read. */
  get head(): Upcoming | undefined {
    return this.#upcoming[this.#next]
  }

  /** Whether all changes have been taken, and there are no more. */
  get isOver(): boolean {
    return this.#isRead && this.head === undefined
  }

  /** µs since the Unix epoch at which the trace ends; known once {@link isOver}. */
  get end(): number {
    return this.#end
  }

  /** Gaps of the trace read so far. */
  get gaps(): number {
    return this.#gaps
  }

  /** Removes the head. */
  take(): void {
    this.#next++
    if (this.#next < mostAhead) return
    this.#upcoming = this.#upcoming.slice(this.#next)
    this.#next = 0
  }

  /**
   * Goes on reading if there is room for more. Resolves when something was read, rejects with the error of the source; `undefined`: nothing
   * is being read.
   */
  readAhead(): Promise<void> | undefined {
    if (this.#reading !== undefined) return this.#reading
    if (this.#isRead || this.#upcoming.length - this.#next >= mostAhead) return undefined
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  /** Closes the source. */
  async close(): Promise<void> {
    await this.#reading?.catch(() => undefined)
    await this.#parts.return()
  }

  async #read(): Promise<void> {
    const chunk = await this.#parts.next()
    if (chunk.done === true) this.#isRead = true
    else for (const part of chunk.value) this.#add(part)
  }

  #add(part: TracePart): void {
    switch (part.type) {
      case "config":
        return this.#planner.configure(part.config)
      case "gap":
        this.#gaps++
        return
      case "change":
        this.#upcoming.push(this.#plan(part.change))
        return
      case "end":
        this.#end = part.time
        return
      case "beginning":
        this.#planner.expectKinds(part.header?.kinds ?? [])
        this.#planner.expect(part.objects)
        this.#beginning = { time: part.time, seed: part.objects.map((change) => this.#plan(change)) }
    }
  }

  #plan(change: TraceChange): Upcoming {
    return { change, planned: this.#planner.plan(change) }
  }
}
