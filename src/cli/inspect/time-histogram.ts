/**
 * How many events happened when, in bars of equal width.
 *
 * Memory is bounded whatever the number of events and however long the time between the first and the last: where there would be too many bars, each two
 * neighbours become one. Events may come in any order. Counts are exact; of {@link TimeHistogram.spread} they are estimates.
 */

/** Half of it at least is used once there was a merge: more bars than a terminal has columns are of no use to people, and few to programs. */
const mostBars = 256

/** One bar. Times are µs since the Unix epoch. */
export interface HistogramBar {
  /** Inclusive. */
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly events: number
}

/** Add times, then take {@link bars}. */
export class TimeHistogram {
  /** By the number of the bar: its start divided by the width. */
  #counts = new Map<number, number>()
  /** µs; a power of two times a ms. */
  #width = 1000
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY

  /** `time`: µs since the Unix epoch. */
  add(time: number, events = 1): void {
    // Traces that others wrote may have anything.
    if (!Number.isFinite(time)) return
    this.#extend(time)
    this.#count(Math.floor(time / this.#width), events)
  }

  /** Spreads events over a time in which they happened, evenly, because that is all that is known of them. */
  spread(from: number, to: number, events: number): void {
    if (events <= 0) return
    this.#extend(from)
    this.#extend(Math.max(from, to))
    const [first, last] = [Math.floor(from / this.#width), Math.floor(Math.max(from, to) / this.#width)]
    const bars = last - first + 1
    for (let bar = 0; bar < bars; bar++) {
      const share = Math.floor((events * (bar + 1)) / bars) - Math.floor((events * bar) / bars)
      if (share > 0) this.#count(first + bar, share)
    }
  }

  /** From the first event to the last, without holes, at most `most`, but two where the times are on both sides of a bar's edge; none if there is no event. */
  bars(most: number): ReadonlyArray<HistogramBar> {
    if (this.#counts.size === 0) return []
    let width = this.#width
    const indexOf = (time: number): number => Math.floor(time / width)
    while (indexOf(this.#last) - indexOf(this.#first) + 1 > Math.max(2, most)) width *= 2
    const first = indexOf(this.#first)
    const counts = new Array<number>(indexOf(this.#last) - first + 1).fill(0)
    for (const [bar, events] of this.#counts) {
      const index = Math.floor((bar * this.#width) / width) - first
      counts[index] = (counts[index] ?? 0) + events
    }
    return counts.map((events, index) => ({ start: (first + index) * width, end: (first + index + 1) * width, events }))
  }

  #extend(time: number): void {
    this.#first = Math.min(this.#first, time)
    this.#last = Math.max(this.#last, time)
    while (Math.floor(this.#last / this.#width) - Math.floor(this.#first / this.#width) >= mostBars) this.#merge()
  }

  #count(bar: number, events: number): void {
    this.#counts.set(bar, (this.#counts.get(bar) ?? 0) + events)
  }

  #merge(): void {
    const merged = new Map<number, number>()
    for (const [bar, events] of this.#counts) {
      const wider = Math.floor(bar / 2)
      merged.set(wider, (merged.get(wider) ?? 0) + events)
    }
    this.#counts = merged
    this.#width *= 2
  }
}

const levels = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"] as const

/** A character for each bar, as high as it has events; a space for none. */
export const barText = (bars: ReadonlyArray<HistogramBar>): string => {
  const most = Math.max(1, ...bars.map(({ events }) => events))
  return bars
    .map(({ events }) => (events === 0 ? " " : (levels[Math.ceil((events / most) * levels.length) - 1] ?? "▁")))
    .join("")
}
