/** Tiles that grow at their end while time goes on, and tiles seen through another window. */

import { marks } from "../../timeline/index.ts"
import type { LaneTile, Span } from "../source/source.ts"
import type { DrawnTile } from "./state.ts"

/** An answer says how many changes there are and in which columns, not how many in each: the columns share them alike. */
export const tileOf = ({ from, to }: Span, { columns, changes }: Pick<LaneTile, "columns" | "changes">): DrawnTile => {
  const counts = new Uint32Array(columns.length)
  const changed = columns.reduce((sum, value) => sum + ((value & marks.changed) === 0 ? 0 : 1), 0)
  let [left, rest] = [changed, changes]
  columns.forEach((value, column) => {
    if ((value & marks.changed) === 0) return
    const share = Math.round(rest / left)
    counts[column] = share
    rest -= share
    left--
  })
  // Those of a part of the object that no column shows.
  if (columns.length > 0) counts[columns.length - 1] = (counts[columns.length - 1] ?? 0) + rest
  return { from, micros: (to - from) / Math.max(1, columns.length), columns, counts, changes }
}

/** The tile with later columns behind its own. Columns beyond `most` are dropped from its front. Other scales replace it. */
export const appended = (tile: DrawnTile, later: DrawnTile, most: number): DrawnTile => {
  const gap = Math.round((later.from - tile.from) / tile.micros)
  const isContinuous = Math.abs(later.micros / tile.micros - 1) < 1e-6 && gap >= 0 && gap <= tile.columns.length
  if (!isContinuous) return later
  const dropped = Math.max(0, gap + later.columns.length - most)
  const columns = joined(new Uint8Array(gap + later.columns.length), tile.columns, later.columns).subarray(dropped)
  const counts = joined(new Uint32Array(gap + later.columns.length), tile.counts, later.counts).subarray(dropped)
  const changes = counts.reduce((sum, count) => sum + count, 0)
  return { from: tile.from + dropped * tile.micros, micros: tile.micros, columns, counts, changes }
}

/** The second behind the first, at the end of `into`. */
const joined = <Columns extends Uint8Array | Uint32Array>(into: Columns, first: Columns, second: Columns): Columns => {
  const gap = into.length - second.length
  into.set(first.subarray(0, gap))
  into.set(second, gap)
  return into
}

/**
 * Writes what the tile has of a window into `into`, a byte for each column: where a column of the window has several of the tile's, the last one with the
 * marks of all. 255: the tile does not say.
 */
export const resample = (tile: DrawnTile, { from, to }: Span, into: Uint8Array): void => {
  const { columns, micros } = tile
  const step = (to - from) / into.length / micros
  let position = (from - tile.from) / micros
  const sticky = marks.changed | marks.gap | marks.late | marks.wasBad | marks.unseen
  if (Math.abs(step - 1) < 1e-9 && Math.abs(position - Math.round(position)) < 1e-6) {
    const shift = Math.round(position)
    for (let column = 0; column < into.length; column++) into[column] = columns[column + shift] ?? 255
    return
  }
  for (let column = 0; column < into.length; column++, position += step) {
    const first = Math.floor(position)
    const last = Math.max(first, Math.ceil(position + step) - 1)
    let value = columns[last] ?? columns[first] ?? 255
    if (value !== 255) for (let each = first; each < last; each++) value |= (columns[each] ?? 0) & sticky
    into[column] = value
  }
}
