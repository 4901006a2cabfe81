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
import { type OwnerReference, readOwnerReferences } from "../../trace/owner-references.ts"
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

/** Whether an object of a kind with these owners is left out; asked only about objects that have any. */
export type OwnerRule = (gvk: string, references: ReadonlyArray<OwnerReference>) => boolean

export const readWindow = (
  reader: ArchiveReader,
  job: ExportJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
  isLeftOutByOwners: OwnerRule,
): ExportWindow => {
  const filter = new EventFilter(filters)
  const owned = new OwnedObjects(isLeftOutByOwners)
  const isLeftOut = (event: ObjectEvent): boolean => {
    let parsed: JsonObject | undefined
    const object = (): JsonObject => {
      parsed ??= { metadata: metadataOf(event.object) ?? null }
      return parsed
    }
    // Both are asked, so that both remember.
    const filtered = filter.excludes(event, object)
    return owned.excludes(event, object) || filtered
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

/** Judges by owners. Deletions as well, by the last state (W-10, W-11); what vanished by its state before. */
class OwnedObjects {
  readonly #rule: OwnerRule
  readonly #excluded = new Set<string>()

  constructor(rule: OwnerRule) {
    this.#rule = rule
  }

  excludes(event: ObjectEvent, object: () => JsonObject): boolean {
    if (event.action === "vanished") return this.#excluded.delete(event.uid)
    const references = ownersOf(event.object, object)
    const isExcluded = references.length > 0 && this.#rule(event.gvk, references)
    if (isExcluded && event.action === "applied") this.#excluded.add(event.uid)
    else this.#excluded.delete(event.uid)
    return isExcluded
  }
}

const noOwners: ReadonlyArray<OwnerReference> = []

const ownersOf = (bytes: Uint8Array, object: () => JsonObject): ReadonlyArray<OwnerReference> => {
  // An API server writes keys without escapes: where these letters do not stand, the key does not. 0.2 µs instead of 5.
  if (Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(ownerReferences) === -1) return noOwners
  const { metadata } = object()
  return readOwnerReferences(isJsonObject(metadata) ? metadata.ownerReferences : undefined)
}
