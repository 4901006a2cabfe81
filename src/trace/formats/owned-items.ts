/**
 * A trace without the objects that its other objects own, over any number of steps: the controllers recreate them at replay. As in an
 * export (filtered-view.ts), an object that is adopted disappears, one that is abandoned appears.
 */

import { memberIn } from "../json/members.ts"
import { type OwnerReference, readOwnerReferences } from "../ownership/owner-references.ts"
import { gvkOfReference, type Ownership } from "../ownership/ownership.ts"
import { metadataIn } from "../sanitising/managed-fields.ts"
import { FilteredView } from "../selection/filtered-view.ts"
import type { TraceItem } from "../trace-item.ts"

/** Decides what is encoded. */
export interface ItemFilter {
  /** What remains of an item; `undefined`: nothing. */
  readonly filtered: (item: TraceItem) => TraceItem | undefined
  /** For people: what will go wrong in a replay, one sentence each. */
  readonly warnings: ReadonlyArray<string>
}

/** Ownership in a trace, and the objects it contains. */
export interface OwnedObjects {
  readonly ownership: Ownership
  /** Whether the trace contains an object with that UID. */
  holds(uid: string): boolean
  /** Whether it contains objects of that kind. */
  holdsKind(gvk: string): boolean
}

/** `hasPlace`: kinds that the other format can represent; nothing recreates what objects of other kinds own. */
export const withoutOwned = (
  { ownership, holds, holdsKind }: OwnedObjects,
  hasPlace: (gvk: string) => boolean,
): ItemFilter => {
  /** Kinds of objects that stay, with the kinds of their owners, which the trace lacks. */
  const orphans = new Map<string, Set<string>>()
  const isMember = (owner: OwnerReference): boolean => holds(owner.uid) && hasPlace(gvkOfReference(owner))
  const view = new FilteredView((event) => {
    const references = ownerReferencesIn(event.object)
    if (references.length === 0) return false
    if (ownership.isBelow(references, isMember, event)) return true
    for (const owner of references.map(gvkOfReference))
      if (!holdsKind(owner)) orphans.set(owner, (orphans.get(owner) ?? new Set()).add(event.gvk))
    return false
  })
  return {
    filtered: (item) => {
      if (item.type !== "event" || item.event.type !== "object") return item
      const showing = view.of(item.event, () => ({}))
      if (showing === "hidden") return undefined
      return showing === "shown" ? item : { ...item, event: { ...item.event, action: "vanished", object: noBytes } }
    },
    get warnings() {
      return [...orphans].map(
        ([owner, owned]) =>
          `the trace has no ${owner}, so what they own could not be told apart and stays (${[...owned].join(", ")}): a controller of the replay cluster may create it a second time`,
      )
    },
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
  return readOwnerReferences(memberIn(metadataIn(bytes), "ownerReferences"))
}
