/** Draws one lane: what is known of it in a window becomes a byte for each column (tile.ts). */

import { marks, type Tone, tones } from "./tile.ts"

/** A window that is drawn. */
export interface TileWindow {
  /** µs since the Unix epoch, both inclusive. */
  readonly from: number
  readonly to: number
  /** Columns, of the same length each but for rounding; at least 1. */
  readonly width: number
}

/** How the lane is from a moment on. */
interface ToneChange {
  /** µs since the Unix epoch. */
  readonly time: number
  /** `absent`: it was deleted. `undefined`: as before, or not looked at. */
  readonly tone: Tone | undefined
}

/** Of what there is a part in a window: both ends inclusive, µs since the Unix epoch. */
export interface TileRange {
  /** `unrecorded`: whether it exists is unknown. */
  readonly type: "gap" | "late" | "unrecorded"
  readonly from: number
  readonly to: number
}

/** The column of a moment of the window; ascends with it. */
export const columnOf = ({ from, to, width }: TileWindow, time: number): number =>
  Math.min(width - 1, Math.floor(((time - from) * width) / (to - from + 1)))

/** Draws one lane, change by change in the order of time. Takes time in proportion to changes, ranges and columns. */
export class TileDrawing {
  readonly #window: TileWindow
  readonly #columns: Uint8Array
  #column = 0
  #tone: Tone
  #bits: number

  /** `before`: how the lane is just before the window. */
  constructor(window: TileWindow, before: Tone) {
    this.#window = window
    this.#columns = new Uint8Array(window.width)
    this.#tone = before
    this.#bits = wasBad(before)
  }

  /** How the lane is from a moment in a column on; `undefined`: as before, or not looked at. */
  change(column: number, tone: Tone | undefined): void {
    this.#drawTo(column)
    this.#tone = tone ?? this.#tone
    this.#bits |= marks.changed | wasBad(this.#tone)
  }

  /** `unseen`: columns with changes that were not looked at. Call it once, in the end. */
  finish(ranges: ReadonlyArray<TileRange> = [], unseen: Iterable<number> = []): Uint8Array {
    const columns = this.#columns
    this.#drawTo(columns.length)
    for (const column of unseen) columns[column] = (columns[column] ?? 0) | marks.unseen
    drawRanges(columns, this.#window, ranges)
    return columns
  }

  #drawTo(column: number): void {
    for (; this.#column < column; this.#column++) {
      this.#columns[this.#column] = this.#tone | this.#bits
      this.#bits = wasBad(this.#tone)
    }
  }
}

/** The columns of a lane that was `before` just before the window, and then changed, in the order of time. Changes outside the window are passed over. */
export const tileOf = (
  window: TileWindow,
  before: Tone,
  changes: Iterable<ToneChange>,
  ranges: ReadonlyArray<TileRange> = [],
): Uint8Array => {
  const drawing = new TileDrawing(window, before)
  for (const { time, tone } of changes)
    if (time >= window.from && time <= window.to) drawing.change(columnOf(window, time), tone)
  return drawing.finish(ranges)
}

const wasBad = (tone: Tone): number => (tone === tones.bad ? marks.wasBad : 0)

const drawRanges = (columns: Uint8Array, window: TileWindow, ranges: ReadonlyArray<TileRange>): void => {
  if (ranges.length === 0) return
  const { width } = window
  /** How many more ranges, or fewer, a column is in than the one before. */
  const [gaps, lates, unknown] = [new Int32Array(width + 1), new Int32Array(width + 1), new Int32Array(width + 1)]
  for (const { type, from, to } of ranges) {
    if (to < window.from || from > window.to || from > to) continue
    const first = columnOf(window, Math.max(from, window.from))
    const last = columnOf(window, Math.min(to, window.to))
    const touched = type === "late" ? lates : gaps
    touched[first] = (touched[first] ?? 0) + 1
    touched[last + 1] = (touched[last + 1] ?? 0) - 1
    if (type !== "unrecorded") continue
    // The tone is that of a column's end.
    const ended = to >= window.to || columnOf(window, to + 1) > last ? last + 1 : last
    unknown[first] = (unknown[first] ?? 0) + 1
    unknown[ended] = (unknown[ended] ?? 0) - 1
  }
  let [inGaps, inLates, inUnknown] = [0, 0, 0]
  for (let column = 0; column < width; column++) {
    inGaps += gaps[column] ?? 0
    inLates += lates[column] ?? 0
    inUnknown += unknown[column] ?? 0
    let drawn = columns[column] ?? 0
    if (inGaps > 0) drawn |= marks.gap
    if (inLates > 0) drawn |= marks.late
    if (inUnknown > 0) drawn = (drawn & ~7) | tones.unknown
    columns[column] = drawn
  }
}
