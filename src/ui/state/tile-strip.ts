/** Tiles that grow at their end while time goes on, and tiles seen through another window. */

import { marks } from "../../timeline/index.ts"
import type { Span } from "../source/source.ts"
import type { DrawnTile } from "./state.ts"

/** The tile with later columns behind its own. Columns beyond `most` are dropped from its front. Other scales replace it. */
export const appended = (tile: DrawnTile, later: DrawnTile, most: number): DrawnTile => {
  const gap = Math.round((later.from - tile.from) / tile.micros)
  const isContinuous = Math.abs(later.micros / tile.micros - 1) < 1e-6 && gap >= 0 && gap <= tile.columns.length
  if (!isContinuous) return later
  const whole = new Uint8Array(gap + later.columns.length)
  whole.set(tile.columns.subarray(0, gap))
  whole.set(later.columns, gap)
  const dropped = Math.max(0, whole.length - most)
  const changes = tile.changes + later.changes
  return { from: tile.from + dropped * tile.micros, micros: tile.micros, columns: whole.subarray(dropped), changes }
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
