/**
 * The two parts of an export's window, filtered.
 *
 * One filter judges both, since a deletion in the window may need a verdict from before it. Objects are parsed only for filters
 * that ask for labels or owners, and then only their metadata.
 */
import type { ArchiveReader } from "../../trace/archive/archive-reader.ts"
import type { GapEvent, ObjectEvent } from "../../trace/event.ts"
import { isJsonObject, type JsonObject } from "../../trace/exact-json.ts"
import { type CompiledFilters, EventFilter } from "../../trace/filters.ts"
import { metadataOf } from "../../trace/managed-fields.ts"
import type { ExportJob } from "./definition.ts"

/** Events looked at between two pauses, so that a long stretch of left-out events does not hold up other exports. */
export const eventsPerTurn = 500

/** Stands for an event that the filters leave out: it too took time. */
export type LeftOut = undefined

export interface ExportWindow {
  /** What existed when the window began. Taken before `events`. An object's bytes are valid until the next is taken. */
  snapshot(): Iterable<ObjectEvent | LeftOut>
  /** What happened in it. Gaps are never left out. */
  events(): Iterable<ObjectEvent | GapEvent | LeftOut>
}

export const readWindow = (
  reader: ArchiveReader,
  job: ExportJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
): ExportWindow => {
  const filter = new EventFilter(filters)
  const owned = new Set(job.skipOwned)
  const ownedUids = new Set<string>()
  const isLeftOut = (event: ObjectEvent): boolean => {
    let parsed: JsonObject | undefined
    const object = (): JsonObject => {
      parsed ??= { metadata: metadataOf(event.object) ?? null }
      return parsed
    }
    // Both are asked, so that both remember.
    const filtered = filter.excludes(event, object)
    return (owned.has(event.gvk) && isOwned(event, object, ownedUids)) || filtered
  }
  return {
    *snapshot() {
      for (const event of reader.snapshotAt({ cut: job.cut, time: job.fromTime, kinds })) {
        yield isLeftOut(event) ? undefined : event
      }
    },
    *events() {
      const selection = { cut: job.cut, fromTime: job.fromTime, untilTime: job.untilTime, kinds }
      for (const event of reader.events(selection)) {
        yield event.type === "object" && isLeftOut(event) ? undefined : event
      }
    },
  }
}

const ownerReferences = Buffer.from('"ownerReferences"')

/** `skipOwned` applies to deletions as well (W-10); what vanished is judged by its last state. */
const isOwned = (event: ObjectEvent, object: () => JsonObject, ownedUids: Set<string>): boolean => {
  if (event.action === "vanished") return ownedUids.delete(event.uid)
  const owned = hasOwner(event.object, object)
  if (owned && event.action === "applied") ownedUids.add(event.uid)
  else ownedUids.delete(event.uid)
  return owned
}

const hasOwner = (bytes: Uint8Array, object: () => JsonObject): boolean => {
  // An API server writes keys without escapes: where these letters do not stand, the key does not. 0.2 µs instead of 5.
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(ownerReferences) === -1) return false
  const { metadata } = object()
  const references = isJsonObject(metadata) ? metadata.ownerReferences : undefined
  return Array.isArray(references) && references.length > 0
}
