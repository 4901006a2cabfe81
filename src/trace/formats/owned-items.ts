/**
 * A trace without the objects that its other objects own, over any number of steps: the controllers recreate them at replay. As in an
 * export (filtered-view.ts), an object that is adopted disappears, one that is abandoned appears.
 */

import { isJsonObject, MalformedJsonError } from "../json/exact-json.ts"
import { type OwnerReference, readOwnerReferences } from "../ownership/owner-references.ts"
import { gvkOfReference, type Ownership } from "../ownership/ownership.ts"
import { metadataOf } from "../sanitising/managed-fields.ts"
import { FilteredView } from "../selection/filtered-view.ts"
import type { TraceItem } from "../trace-item.ts"

/** Maps an item to what remains of it; `undefined`: nothing. */
export type ItemFilter = (item: TraceItem) => TraceItem | undefined

/** Ownership in a trace, and the objects it contains. */
export interface OwnedObjects {
  readonly ownership: Ownership
  /** Whether the trace contains an object with that UID. */
  holds(uid: string): boolean
}

/** `hasPlace`: kinds that the other format can represent; nothing recreates what objects of other kinds own. */
export const withoutOwned = ({ ownership, holds }: OwnedObjects, hasPlace: (gvk: string) => boolean): ItemFilter => {
  const isMember = (owner: OwnerReference): boolean => holds(owner.uid) && hasPlace(gvkOfReference(owner))
  const view = new FilteredView((event) => {
    const references = ownerReferencesIn(event.object)
    return references.length > 0 && ownership.isBelow(references, isMember, event)
  })
  return (item) => {
    if (item.type !== "event" || item.event.type !== "object") return item
    const showing = view.of(item.event, () => ({}))
    if (showing === "hidden") return undefined
    return showing === "shown" ? item : { ...item, event: { ...item.event, action: "vanished", object: noBytes } }
  }
}

const noBytes = new Uint8Array(0)

const ownerReferences = Buffer.from('"ownerReferences"')

/**
 * The owner references of an object as a server wrote it, whose keys have no escapes. Unreadable bytes yield none: the encoder reports
 * them.
 */
export const ownerReferencesIn = (bytes: Uint8Array): ReadonlyArray<OwnerReference> => {
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(ownerReferences) === -1) return []
  try {
    const metadata = metadataOf(bytes)
    return readOwnerReferences(isJsonObject(metadata) ? metadata.ownerReferences : undefined)
  } catch (error) {
    if (error instanceof MalformedJsonError) return []
    throw error
  }
}
