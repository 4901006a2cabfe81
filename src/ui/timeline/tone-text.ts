/** What the columns of a tile mean, in words. */

import { marks, toneIn, tones } from "../../timeline/index.ts"
import type { DrawnTile } from "../state/state.ts"

const toneNames: Readonly<Record<number, string>> = {
  [tones.absent]: "does not exist",
  [tones.unknown]: "not recorded",
  [tones.plain]: "exists",
  [tones.good]: "fine",
  [tones.waiting]: "not ready yet",
  [tones.bad]: "something is wrong",
  [tones.over]: "over",
}

/** Nearer, there are fewer changes to a column, and all of them are looked at. */
const unseenText = ", one of several states: what was between them was not looked at; zoom in to see it"

/** How the row is at a moment, in words; empty if that is not known. */
export const toneText = (tile: DrawnTile | undefined, time: number): string => {
  if (tile === undefined) return ""
  const value = tile.columns[Math.min(tile.columns.length - 1, Math.floor((time - tile.from) / tile.micros))]
  if (value === undefined) return ""
  const isLost = (value & marks.gap) !== 0
  const isUnseen = (value & (marks.unseen | marks.wasBad)) === marks.unseen
  return `${toneNames[toneIn(value)] ?? ""}${isLost ? ", changes may be missing" : ""}${isUnseen ? unseenText : ""}`
}
