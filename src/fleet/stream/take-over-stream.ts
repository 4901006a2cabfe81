/**
 * Takes a stream over: restores it into a directory, and creates the opening segment of the next epoch behind what was restored. The recorder before finds its
 * next number taken then, however fast it ships: what it adds meanwhile is restored as well, and the next number is tried.
 *
 * The opening segment has no rows. So an answer that is lost, or a creation that arrives late, costs an epoch and nothing else, and no intent need be kept.
 */
import { encodeOpening } from "../segment/segment-encoder.ts"
import { markBehind } from "../segment/segment-facts.ts"
import { segmentKey } from "../segment/segment-reader.ts"
import { readManifest } from "./manifest.ts"
import { type Restored, type RestoreOptions, restoreStream } from "./restore-stream.ts"
import type { CreatingStore } from "./stream-description.ts"

/** Restores as {@link restoreStream} does; nobody else can add to the stream then, unless it is taken over again. Rejects as that does. */
export const takeOverStream = (
  store: CreatingStore,
  directory: string,
  options: Omit<RestoreOptions, "take"> = {},
): Promise<Restored> =>
  restoreStream(store, directory, {
    ...options,
    take: async (tenure, last) => {
      const { shipped, owner } = tenure
      if (shipped === undefined) return tenure
      const opening = encodeOpening(last, shipped.position, owner)
      const { number } = opening.facts
      if ((await store.create(segmentKey(number), opening.parts)) === "exists") return undefined
      // It can be created again if it has been compacted away, and no reader counts what is there then.
      if ((await readManifest(store)).compactedThrough >= number) return undefined
      return { ...tenure, shipped: { ...shipped, ...markBehind(opening), isWhole: false } }
    },
  })
