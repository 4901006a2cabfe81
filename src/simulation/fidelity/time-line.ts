/** Numbers over the time of a run, in at most {@link mostPoints} steps of equal length. */

/** Enough for a chart that fills a screen. */
export const mostPoints = 600

/** Lengths of a step in ms that people can read. */
const lengths = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000]

/** The steps of one run; all times are ms from its beginning. */
export class TimeLine {
  /** ms of a step. */
  readonly stepMs: number
  readonly points: number

  /** From 0 to `endMs`. */
  constructor(endMs: number) {
    const end = Math.max(1, endMs)
    const length = lengths.find((each) => end / each <= mostPoints)
    this.stepMs = length ?? Math.ceil(end / mostPoints / 600_000) * 600_000
    this.points = Math.min(mostPoints, Math.ceil(end / this.stepMs))
  }

  /** The step that contains a moment; moments outside belong to the first or the last. */
  indexOf(ms: number): number {
    return Math.min(this.points - 1, Math.max(0, Math.floor(ms / this.stepMs)))
  }

  /** What there is at the end of each step, from its changes. */
  counts(changes: Iterable<{ readonly at: number; readonly change: number }>): ReadonlyArray<number> {
    const counts = new Array<number>(this.points).fill(0)
    for (const { at, change } of changes) {
      const index = this.indexOf(at)
      counts[index] = (counts[index] as number) + change
    }
    for (let index = 1; index < counts.length; index++)
      counts[index] = (counts[index] as number) + (counts[index - 1] as number)
    return counts
  }

  /** The largest value of each step; `null` where there is none. */
  maxima(values: Iterable<{ readonly at: number; readonly value: number }>): ReadonlyArray<number | null> {
    const maxima = new Array<number | null>(this.points).fill(null)
    for (const { at, value } of values) {
      const index = this.indexOf(at)
      maxima[index] = Math.max(maxima[index] ?? value, value)
    }
    return maxima
  }
}
