/**
 * The parts of a recording that the interactive view reads, one at a time: each has so many events at most, so that memory is bounded however long the recording is.
 * Where a part begins is found by counting, of which a recorder answers each in some ms.
 */

/** One part. Times are µs since the Unix epoch; the end is exclusive. */
export interface Part {
  readonly start: number
  readonly end: number
  /** Whether there is nothing before it, and after it. */
  readonly isFirst: boolean
  readonly isLast: boolean
  /** Whether more may be recorded after it meanwhile. */
  readonly isGrowing: boolean
  /** Events of all parts. */
  readonly events: number
}

/** Which part is wanted: the last one, or one beside the part before. */
export type WantedPart = "last" | "earlier" | "later"

/** What parts are made of. Times are as in {@link Part}. */
export interface CountedRecording {
  /** Rejects with an ExportError. */
  readonly count: (start: number, end: number, signal: AbortSignal) => Promise<number>
  /** Where the first part begins: a time that was asked for, or 0. */
  readonly start: number
  /** Before which nothing was recorded. */
  readonly since: number
  /** Where the last part ends now. */
  readonly end: () => number
  readonly isGrowing: boolean
  /** Default: some seconds of reading, and 100 MB of states. */
  readonly mostEvents?: number | undefined
}

/** Goes from part to part. */
export class RecordingParts {
  readonly #recording: CountedRecording
  #part: Part | undefined

  constructor(recording: CountedRecording) {
    this.#recording = recording
  }

  /** Later than the last part is the last part again, up to now. Rejects as counting does. */
  async next(wanted: WantedPart, signal: AbortSignal): Promise<Part> {
    const { count, start: first, since, end, isGrowing, mostEvents = 200_000 } = this.#recording
    const last = Math.max(first, end())
    const before = this.#part
    let part: Pick<Part, "start" | "end">
    if (before !== undefined && wanted === "later" && !before.isLast) {
      const { end: start } = before
      part = { start, end: await reach(mostEvents, start, last, (edge) => count(start, edge, signal)) }
    } else {
      const stop = before !== undefined && wanted === "earlier" ? before.start : last
      const bottom = Math.min(Math.max(first, since), stop)
      const start = await reach(mostEvents, stop, bottom, (edge) => count(edge, stop, signal))
      part = { start: start === bottom ? first : start, end: stop }
    }
    const events = await count(first, last, signal)
    this.#part = { ...part, isFirst: part.start <= first, isLast: part.end >= last, isGrowing, events }
    return this.#part
  }
}

/** From `near` as far towards `far` as there are `most` events, or half of them at least. A moment with more is not divided. */
const reach = async (
  most: number,
  near: number,
  far: number,
  countTo: (edge: number) => Promise<number>,
): Promise<number> => {
  if ((await countTo(far)) <= most) return far
  let [few, many] = [near, far]
  while (Math.abs(many - few) > 1) {
    const middle = Math.trunc((few + many) / 2)
    const events = await countTo(middle)
    if (events > most) many = middle
    else {
      few = middle
      if (events >= most / 2) break
    }
  }
  return few === near ? many : few
}
