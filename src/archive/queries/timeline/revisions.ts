/**
 * When objects changed, by tables of contents alone: their changes in a window, and the last one before it.
 *
 * What was the last change up to an event is kept, because a page that follows the end of a recording asks for the same lanes each second: then only the
 * blocks since are looked at, and not the checkpoint before them.
 */
import { APPLIED } from "../../../wire/index.ts"
import type { BlockFrame } from "../../blocks/block-frame.ts"
import type { KeptKind } from "../../rows/kind-table.ts"
import { passedOver } from "../changes.ts"
import type { QueriedRecording } from "../queried-recording.ts"
import { sequenceAt } from "./lanes.ts"
import type { TimelineCache } from "./timeline-cache.ts"

/** The changes of one object in a window, as columns, in order. */
export class Revisions {
  readonly times: number[] = []
  /** Sequence numbers; those of deletions, seen or implied, are negative. */
  readonly sequences: number[] = []
  /** The last one before the window, likewise; 0: there is none. */
  before = 0
}

interface WantedChanges {
  readonly numbers: ReadonlySet<number>
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
}

const signed = (frame: BlockFrame, index: number): number =>
  frame.events.action(index) === APPLIED ? frame.sequence(index) : -frame.sequence(index)

/** By number, each of `numbers`. With pauses. @throws ArchiveError */
export function* revisionsOf(
  recording: QueriedRecording,
  cache: TimelineCache,
  kind: KeptKind,
  { numbers, from, to }: WantedChanges,
): Generator<undefined, ReadonlyMap<number, Revisions>, void> {
  const found = new Map(Array.from(numbers, (number) => [number, new Revisions()] as const))
  if (to < kind.removedThrough) return found
  const begin = Math.max(from, kind.removedThrough + 1)
  const last = lastBefore(recording, cache, kind, { numbers, time: begin })
  for (const [number, revisions] of found) revisions.before = last.get(number) ?? 0
  let looked = 0
  for (const frame of recording.source.framesHolding(kind, numbers, { fromTime: begin, toTime: to })) {
    if (++looked % passedOver === 0) yield undefined
    const { events } = frame
    for (let at = frame.indexOfObject(numbers, 0); at < events.count; at = frame.indexOfObject(numbers, at + 1)) {
      const time = frame.time(at)
      if (time > to || frame.sequence(at) > recording.cut) return found
      if (time < begin) continue
      const revisions = found.get(events.objectNumber(at))
      revisions?.times.push(time)
      revisions?.sequences.push(signed(frame, at))
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
