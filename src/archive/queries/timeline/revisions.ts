/**
 * When objects changed, by tables of contents alone: what they did in each column of a window, and the last change before it.
 *
 * Memory: 16 bytes for each column of an object in which it changed, however often: 200 Leases over ten days have 17 million changes. Other changes of
 * a column are held only as long as there are few of them in all ({@link mostBetween}).
 *
 * What was the last change up to an event is kept, because a page that follows the end of a recording asks for the same lanes each second: then only the
 * blocks since are looked at, and not the checkpoint before them.
 */
import { columnOf, type TileWindow } from "../../../timeline/index.ts"
import { APPLIED } from "../../../wire/index.ts"
import type { BlockFrame } from "../../blocks/block-frame.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { sequenceAt } from "./lanes.ts"
import type { TimelineCache } from "./timeline-cache.ts"

/** The changes of one object in a window, as columns, in order: of each column of pixels at least the last. */
export class ColumnChanges {
  /** Columns of pixels. */
  columns: number[] = []
  /** Sequence numbers; those of deletions, seen or implied, are negative. */
  sequences: number[] = []
  /** Columns of pixels of which changes were passed over, ascending. */
  readonly unseen: number[] = []
  /** The last change before the window, as in `sequences`; 0: there is none. */
  before = 0
  /** All changes in the window. */
  count = 0
  #holdsAll: boolean

  constructor(holdsAll: boolean) {
    this.#holdsAll = holdsAll
  }

  /** Returns whether it is held beside another one of its column. */
  add(column: number, sequence: number): boolean {
    this.count++
    const last = this.columns.length - 1
    const isBetween = this.columns[last] === column
    if (isBetween && !this.#holdsAll) {
      this.sequences[last] = sequence
      if (this.unseen.at(-1) !== column) this.unseen.push(column)
      return false
    }
    this.columns.push(column)
    this.sequences.push(sequence)
    return isBetween
  }

  /** From now on, and of what there is, only the last change of each column is held. Returns how many are held no more. */
  thin(): number {
    this.#holdsAll = false
    const { columns, sequences } = this
    this.columns = []
    this.sequences = []
    this.count -= columns.length
    for (const [index, column] of columns.entries()) this.add(column, sequences[index] as number)
    return columns.length - this.columns.length
  }
}

/** What is asked for. */
interface WantedChanges {
  /** Those that are thinned out last come first. */
  readonly numbers: ReadonlySet<number>
  readonly window: TileWindow
  /** Whether the last change of each column is enough. */
  readonly onlyLast: boolean
}

/** Changes that are held at once beside the last of their columns: reading the states of 1,000 takes some 40 ms. */
export const mostBetween = 20_000

/** Changes between two pauses. */
const turnChanges = 4096

const signed = (frame: BlockFrame, index: number): number =>
  frame.events.action(index) === APPLIED ? frame.sequence(index) : -frame.sequence(index)

/** By number, each of `numbers`. With pauses. @throws ArchiveError */
export function* revisionsOf(
  recording: QueriedRecording,
  cache: TimelineCache,
  kind: KeptKind,
  { numbers, window, onlyLast }: WantedChanges,
): Generator<undefined, ReadonlyMap<number, ColumnChanges>, void> {
  const { from, to } = window
  const found = new Map(Array.from(numbers, (number) => [number, new ColumnChanges(!onlyLast)] as const))
  if (to < kind.removedThrough) return found
  const begin = Math.max(from, kind.removedThrough + 1)
  const last = lastBefore(recording, cache, kind, { numbers, time: begin })
  for (const [number, changes] of found) changes.before = last.get(number) ?? 0
  const whole = [...found.values()]
  let [looked, between] = [0, 0]
  for (const frame of recording.source.framesHolding(kind, numbers, { fromTime: begin, toTime: to })) {
    yield undefined
    const { events } = frame
    for (let at = frame.indexOfObject(numbers, 0); at < events.count; at = frame.indexOfObject(numbers, at + 1)) {
      const time = frame.time(at)
      if (time > to || frame.sequence(at) > recording.cut) return found
      if (time < begin) continue
      if (found.get(events.objectNumber(at))?.add(columnOf(window, time), signed(frame, at)) === true) between++
      while (between > mostBetween) between -= whole.pop()?.thin() ?? between
      if (++looked % turnChanges === 0) yield undefined
    }
  }
  return found
}

/** The last changes before a moment. */
const lastBefore = (
  recording: QueriedRecording,
  cache: TimelineCache,
  kind: KeptKind,
  { numbers, time }: { readonly numbers: ReadonlySet<number>; readonly time: number },
): ReadonlyMap<number, number> => {
  const through = sequenceAt(recording, kind, time - 1)
  const kept = cache.lastChanges(kind.id)
  const isUsable =
    kept !== undefined &&
    kept.throughSequence <= through &&
    through - kept.throughSequence <= mostSince &&
    // Else retention may have removed changes since.
    kept.throughSequence >= recording.source.beginningOf(kind).throughSequence
  const known = isUsable && kept.sequences.size <= mostKept ? kept.sequences : new Map<number, number>()
  const added = new Set([...numbers].filter((number) => !known.has(number)))
  const sequences = new Map(known)
  const since = (after: number, wanted: ReadonlySet<number>): void => {
    if (wanted.size === 0) return
    const range = { fromTime: 0, toTime: time - 1, afterSequence: after }
    for (const frame of recording.source.framesHolding(kind, wanted, range)) {
      const { events } = frame
      for (let at = frame.indexOfObject(wanted, 0); at < events.count; at = frame.indexOfObject(wanted, at + 1)) {
        const sequence = frame.sequence(at)
        if (sequence > through) return
        if (sequence > after) sequences.set(events.objectNumber(at), signed(frame, at))
      }
    }
  }
  if (known.size > 0) since(kept?.throughSequence ?? 0, new Set(known.keys()))
  if (added.size > 0) {
    const chain = recording.history.stepsBefore(kind, { throughSequence: through })
    for (const number of added) {
      const states = chain.steps.findLast((each) => each.indexOf(number) >= 0)
      const index = states?.indexOf(number) ?? -1
      const sequence = states?.sequences[index] ?? 0
      sequences.set(number, states?.dead[index] === 1 ? -sequence : sequence)
    }
    since(chain.throughSequence, added)
  }
  // Pages that follow the end keep what a question about the past does not replace.
  if (kept === undefined || kept.throughSequence <= through)
    cache.keepLastChanges(kind.id, { throughSequence: through, sequences })
  return sequences
}

/** Objects of a kind whose last changes are kept: those of five pages. */
const mostKept = 1000

/** Events since then, beyond which a checkpoint is as near. */
const mostSince = 100_000
