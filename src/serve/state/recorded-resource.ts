/** What a served kind is read from. Views of one kind (both kinds of Event) have it in common. */
import type { Resource, StoredAs } from "../../apiserver/index.ts"
import type { PastKind } from "../past/past.ts"

export interface RecordedResource {
  /** As which it was recorded. */
  readonly kind: PastKind
  /** As which its objects are kept here. */
  readonly stored: Resource
  /** Converts recorded objects, if they were recorded as a view of what they are kept as. */
  readonly convert?: StoredAs["toStored"]
}
