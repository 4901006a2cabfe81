/**
 * Names of objects whose rows are lost, out of the objects themselves: `metadata` of any event has them that is not abridged, as the first of an object
 * never is. Of an object without such an event, because it has expired, only deletions are left; it gets a name that no object has.
 */
import { formatExactJson, isJsonObject } from "../../trace/json/exact-json.ts"
import { metadataOf } from "../../trace/sanitising/managed-fields.ts"
import type { BlockFrame } from "../blocks/block-frame.ts"
import type { BlockSource, KindKey } from "../blocks/block-source.ts"
import { isAbridged } from "../blocks/merged/abridged-object.ts"

/** A row to be written in the place of a lost one. */
export interface FoundName {
  readonly number: number
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly firstSequence: number
  /** The JSON array, the empty string for none. */
  readonly ownerReferences: string
}

/** The objects of a kind that events mention and that have no name. `isKnown`: whether a number has one. */
export const lostNames = (
  source: BlockSource,
  kind: KindKey,
  isKnown: (number: number) => boolean,
): ReadonlyArray<FoundName> => {
  const found = new Map<number, FoundName>()
  const first = new Map<number, number>()
  source.passingOverDamage(() => {
    for (const frame of everyFrame(source, kind)) {
      for (let index = 0; index < frame.events.count; index++) {
        const number = frame.events.objectNumber(index)
        if (isKnown(number) || found.has(number)) continue
        const sequence = frame.sequence(index)
        if (!first.has(number)) first.set(number, sequence)
        if (frame.events.length(index) === 0) continue
        const { stored } = source.eventAt(sequence)
        const name = isAbridged(stored) ? undefined : nameIn(stored)
        if (name !== undefined) found.set(number, { number, firstSequence: first.get(number) ?? sequence, ...name })
      }
    }
  })
  return [...first].map(
    ([number, firstSequence]) =>
      found.get(number) ?? {
        ...{ number, firstSequence, ownerReferences: "" },
        ...{ uid: `lost-${kind.id}-${number}`, namespace: "", name: `lost-${number}` },
      },
  )
}

const nameIn = (object: Uint8Array): Omit<FoundName, "number" | "firstSequence"> | undefined => {
  const metadata = metadataOf(object)
  if (metadata === undefined) return undefined
  const { uid, namespace = "", name, ownerReferences } = metadata
  if (typeof uid !== "string" || typeof namespace !== "string" || typeof name !== "string") return undefined
  const hasOwners = Array.isArray(ownerReferences) && ownerReferences.every(isJsonObject)
  return { uid, namespace, name, ownerReferences: hasOwners ? formatExactJson(ownerReferences) : "" }
}

function* everyFrame(source: BlockSource, kind: KindKey): Generator<BlockFrame, void, void> {
  yield* source.framesCarriedOver(kind)
  yield* source.framesOf(kind, 0)
}
