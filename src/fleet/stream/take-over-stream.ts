/**
 * Takes a stream over: restores it into a directory, and creates the opening segment of the next epoch behind what was restored. The recorder before finds its
 * next number taken then, however fast it ships: what it adds meanwhile is restored as well, and the next number is tried.
 *
 * The opening segment has no rows. So an answer that is lost, or a creation that arrives late, costs an epoch and nothing else, and no intent need be kept.
 */
import type { Position } from "../../archive/index.ts"
import { newTenure } from "../fence/take-over.ts"
import type { Shipment } from "../fence/tenure.ts"
import { encodeOpening } from "../segment/segment-encoder.ts"
import type { StoredSegment } from "../segment/segment-facts.ts"
import { segmentKey } from "../segment/segment-reader.ts"
import { type Restored, type RestoreOptions, restoreAndTake } from "./restore-stream.ts"
import type { CreatingStore } from "./stream-description.ts"
import { compactedThrough } from "./stream-end.ts"

/**
 * `directory` is created, or has no recording; its recording has the tenure that is returned with what was restored. `newOwner`: 128 random bits, hexadecimal.
 *
 * Rejects with a StreamError, an ArchiveError, an error of the store, or the reason of `signal`.
 */
export const takeOverStream = (
  store: CreatingStore,
  directory: string,
  newOwner: () => string,
  options: RestoreOptions = {},
): Promise<Restored> =>
  restoreAndTake(
    ...([store, directory] as const),
    async ({ description, last, position }) => {
      const owner = newOwner()
      const opening = last && (await createOpening(store, last, position, owner))
      if (last !== undefined && opening === undefined) return undefined
      return newTenure(description.stream, owner, opening)
    },
    options,
  )

/** `undefined`: the stream has gone on. A number that has been compacted away can be created again, and no reader counts what is there. */
const createOpening = async (
  store: CreatingStore,
  last: StoredSegment,
  position: Position,
  owner: string,
): Promise<Shipment | undefined> => {
  const { facts, sha256, parts } = encodeOpening(last, position, owner)
  const { number, epoch } = facts
  if ((await store.create(segmentKey(number), parts)) === "exists") return undefined
  if ((await compactedThrough(store)) >= number) return undefined
  return { number, epoch, owner, sha256, isWhole: false, position, heldAfter: position.sealedThrough }
}
