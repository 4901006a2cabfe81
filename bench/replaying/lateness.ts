/** How punctual a replay was, from the moments at which the target received its writes. Pure. */
import { median } from "../report/statistics.ts"
import type { ReceivedWrite } from "../serving/sandbox-process.ts"
import type { TimedChange } from "./replay-workload.ts"

/** One change and its write. */
export interface Arrival {
  /** ms after the start at which it was due, at the speed of the replay. */
  readonly dueMs: number
  /** ms from due to reception. */
  readonly lateMs: number
}

export interface Schedule {
  readonly changes: Iterable<TimedChange>
  readonly speed: number
  /** µs since the Unix epoch at which the first moment of the trace was due. */
  readonly startedAt: number
  /** The start is only known to be at most as late as this, so that writes may seem to be early. Default: false. */
  readonly isStartVague?: boolean
}

/**
 * The arrivals in the order of the trace. Writes of one object are in the order of its changes.
 *
 * @param nameOf the name of the object of a change
 * @throws Error if there are more changes than writes, or a write was received before it was due: then the start is wrong. Clocks of two
 * processes may differ by a millisecond
 */
export const arrivals = (
  { changes, speed, startedAt, isStartVague = false }: Schedule,
  received: ReadonlyArray<ReceivedWrite>,
  nameOf: (index: number) => string,
): ReadonlyArray<Arrival> => {
  const moments = new Map<string, Array<number>>()
  // Reversed, so that the earliest is taken from the end.
  for (const [name, receivedAt] of received.toReversed()) {
    const known = moments.get(name)
    if (known === undefined) moments.set(name, [receivedAt])
    else known.push(receivedAt)
  }
  return [...changes].map(({ atMs, index }) => {
    const receivedAt = moments.get(nameOf(index))?.pop()
    if (receivedAt === undefined) throw new Error(`${nameOf(index)}: a write at ${atMs} ms was not received`)
    const dueMs = atMs / speed
    const lateMs = (receivedAt - startedAt) / 1000 - dueMs
    if (lateMs < -1 && !isStartVague) throw new Error(`${nameOf(index)} was received ${-lateMs} ms before it was due`)
    return { dueMs, lateMs }
  })
}

/** ms by which writes became later along the run: the median of the last ten against that of the first ten, or of the halves of fewer. */
export const driftMs = (all: ReadonlyArray<Arrival>): number => {
  const late = all.map(({ lateMs }) => lateMs)
  const count = Math.min(10, Math.floor(late.length / 2))
  return median(late.slice(late.length - count)) - median(late.slice(0, count))
}

/** By how much longer than the trace at its speed the time between the first and the last write was, in percent. */
export const stretchPercent = (all: ReadonlyArray<Arrival>): number => {
  const [first, last] = [all[0], all.at(-1)]
  if (first === undefined || last === undefined || last.dueMs === first.dueMs) return Number.NaN
  return ((last.lateMs - first.lateMs) / (last.dueMs - first.dueMs)) * 100
}
