/**
 * The two parts of an export's window, filtered.
 *
 * One view judges both, because the treatment of an object in the window depends on whether it was exported before. Objects are parsed only
 * for filters on labels or owners, and then only their metadata.
 */

import { hash } from "node:crypto"
import type { ArchiveReader, OpenedWindow } from "../../archive/index.ts"
import {
  type CompiledFilters,
  FilteredView,
  formatExactJson,
  type GapEvent,
  type IsInTrace,
  inDependencyOrder,
  isJsonObject,
  type JsonObject,
  labelsOf,
  metadataOf,
  type ObjectEvent,
  type OwnerReference,
  parseExactJson,
  readOwnerReferences,
  replayObject,
} from "../../trace/index.ts"
import type { ExportJob } from "./exporter-interface.ts"

/** Maximum number of events examined between two pauses, so that a long run of filtered events does not delay other exports. */
export const eventsPerTurn = 500

/** Marks an event that was filtered out: it took time too. */
export type LeftOut = undefined

export interface ExportWindow {
  /**
   * The objects that existed at the start of the window, in an order in which they can be created again. Taken before `events`. An object's
   * bytes are valid until the next is taken.
   */
  snapshot(): Iterable<ObjectEvent | LeftOut>
  /** The changes in the window. A gap is left out only if its namespace is. */
  events(): Iterable<ObjectEvent | GapEvent | LeftOut>
}

/** Whether an object of a kind with these owners is left out; called only for objects with owners. */
export type OwnerRule = (gvk: string, references: ReadonlyArray<OwnerReference>, uid: string) => boolean

/** The objects left out because of their owners, for one reading of a window in order. */
export interface OwnerRules {
  /** Whether any rule could leave anything out. */
  readonly areAsked: boolean
  readonly isLeftOut: OwnerRule
  /** Whether the owners of objects that own others change in the window, so that these must be judged again. */
  readonly change: boolean
  /** Moves on to the next change at or before a time, which it returns, or `undefined`: there is none. Both µs since the Unix epoch. */
  nextChange(until: number): number | undefined
}

/** A job whose window begins where the recording has something of it. */
export interface OpenedJob extends ExportJob, Pick<OpenedWindow, "listed"> {
  /** µs since the Unix epoch: the start of the window as it was requested. Gaps, and lives of pods, may lie before the recording began. */
  readonly requestedFrom: number
}

export const readWindow = (
  reader: ArchiveReader,
  job: OpenedJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
  owners: OwnerRules,
): ExportWindow => {
  const excludes = (event: ObjectEvent, object: () => JsonObject): boolean => {
    if (filters.needsLabels && filters.excludesLabels(labelsOf(object()))) return true
    const references = owners.areAsked && namesOwners(event.object) ? ownersOf(object()) : noOwners
    return references.length > 0 && owners.isLeftOut(event.gvk, references, event.uid)
  }
  const view = filters.needsLabels || owners.areAsked ? new FilteredView(excludes) : undefined
  /** The last events of the live objects with owners, by UID, if they may have to be judged again. */
  const owned = new Map<string, Pick<ObjectEvent, "gvk" | "sequence">>()
  const shown = (event: ObjectEvent): ObjectEvent | LeftOut => {
    if (filters.excludesName(event.namespace, event.name)) return undefined
    if (owners.change) {
      const { gvk, sequence } = event
      if (event.action === "applied" && namesOwners(event.object)) owned.set(event.uid, { gvk, sequence })
      else owned.delete(event.uid)
    }
    let parsed: JsonObject | undefined
    const object = (): JsonObject => {
      parsed ??= { metadata: metadataOf(event.object) ?? null }
      return parsed
    }
    const showing = view?.of(event, object) ?? "shown"
    if (showing === "hidden") return undefined
    return showing === "gone" ? { ...event, action: "vanished", object: noBytes } : event
  }
  /** What appears and ends because the owners of its owners change, up to a time: the objects themselves do not. */
  function* judgedAgain(until: number): Generator<ObjectEvent | LeftOut> {
    for (let time = owners.nextChange(until); time !== undefined; time = owners.nextChange(until)) {
      for (const [uid, { gvk, sequence }] of owned) {
        const wasShown = view?.isShown(uid)
        const last = reader.eventAt(gvk, sequence)
        const now = last && shown({ ...last, time })
        // An object that stays is the same as before.
        yield wasShown === true && now?.action === "applied" ? undefined : now
      }
    }
  }
  return {
    *snapshot() {
      for (const kind of inDependencyOrder(kinds)) {
        const selection = { cut: job.cut, time: job.fromTime, kinds: [kind], listed: job.listed, ...timesOf(job) }
        for (const event of reader.snapshotAt(selection)) yield shown(event)
      }
    },
    *events() {
      const { cut, fromTime, untilTime, listed, requestedFrom: gapsFrom } = job
      for (const event of reader.events({ cut, fromTime, untilTime, kinds, listed, gapsFrom, ...timesOf(job) })) {
        if (owners.change) yield* judgedAgain(event.time)
        if (event.type === "object") yield shown(event)
        else if (!filters.excludesGap(event)) yield event
      }
      if (owners.change) yield* judgedAgain(untilTime)
    },
  }
}

/** Which times a job's window has. */
export const timesOf = ({ times }: Pick<ExportJob, "times">) => ({ times: times ?? "happened" })

const noBytes = new Uint8Array(0)

const ownerReferences = Buffer.from('"ownerReferences"')

const noOwners: ReadonlyArray<OwnerReference> = []

/** The owner references of a recorded object. */
export const ownerReferencesOf = (bytes: Uint8Array): ReadonlyArray<OwnerReference> =>
  namesOwners(bytes) ? ownersOf({ metadata: metadataOf(bytes) ?? null }) : noOwners

/** API servers write keys without escapes: if these letters do not occur, neither does the key. 0.2 µs instead of 5. */
const namesOwners = (bytes: Uint8Array): boolean =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).indexOf(ownerReferences) !== -1

const ownersOf = ({ metadata }: JsonObject): ReadonlyArray<OwnerReference> =>
  readOwnerReferences(isJsonObject(metadata) ? metadata.ownerReferences : undefined)

// A window whose objects are sanitised for another cluster (replay-object.ts), without the changes of which nothing is left then; the fields
// that identify an object are unchanged.
//
// Memory: a hash of 20 bytes for each object that exists.

/** A window for a replay. */
export interface ReplayedWindow extends ExportWindow {
  /** Changes left out so far because the object is the same as before. */
  readonly unchanged: number
}

/** Throws MalformedJsonError for recorded bytes that are not JSON, and what reading the window throws. */
export const replayedWindow = (window: ExportWindow, isInTrace: IsInTrace): ReplayedWindow => {
  /** By UID. */
  const states = new Map<string, string>()
  let unchanged = 0
  const shown = (event: ObjectEvent): ObjectEvent | LeftOut => {
    const sanitised = replayed(event, isInTrace)
    if (event.action !== "applied") {
      states.delete(event.uid)
      return sanitised
    }
    const state = hash("sha1", sanitised.object, "latin1")
    if (states.get(event.uid) === state) {
      unchanged++
      return undefined
    }
    states.set(event.uid, state)
    return sanitised
  }
  return {
    get unchanged() {
      return unchanged
    },
    *snapshot() {
      for (const event of window.snapshot()) yield event === undefined ? event : shown(event)
    },
    *events() {
      for (const event of window.events()) yield event?.type === "object" ? shown(event) : event
    },
  }
}

const replayed = (event: ObjectEvent, isInTrace: IsInTrace): ObjectEvent => {
  // A deletion without its last state.
  if (event.object.length === 0) return event
  const object = parseExactJson(event.object)
  if (!isJsonObject(object)) return event
  return { ...event, object: Buffer.from(formatExactJson(replayObject(event.gvk, object, isInTrace))) }
}
