/** What holds the beginning of a recording back: readers, by their leases, and pinned windows of which there is no copy yet. */
import { heldLeases } from "../leases/lease.ts"
import type { WriterParts } from "./beginning-move.ts"

/** From when on what is recorded stays, µs since the Unix epoch. Infinity: nothing holds it. */
export interface Holds {
  readonly readers: number
  readonly pins: number
  /** The earlier of them. */
  readonly all: number
}

/** As of now. `isRoomLacking`: pinned windows hold nothing. @throws what the file system throws */
export const holdsOn = (
  { directory, now, pins }: Pick<WriterParts, "directory" | "now" | "pins">,
  isRoomLacking: boolean,
): Holds => {
  const readers = Math.min(Number.POSITIVE_INFINITY, ...heldLeases(directory, now()).map(({ fromTime }) => fromTime))
  const pinned = isRoomLacking ? Number.POSITIVE_INFINITY : pins.heldFrom
  return { readers, pins: pinned, all: Math.min(readers, pinned) }
}
