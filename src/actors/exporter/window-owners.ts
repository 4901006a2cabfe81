/**
 * The rules of one export about owners: what is left out because of them, and which references stay.
 *
 * An object is judged by the owners of that moment, its own and those above it: a Pod whose ReplicaSet is orphaned or adopted appears or ends
 * then, although the Pod does not change. Whether an owner is in the trace is a fact of the whole window (`ExportedOwners`).
 */
import type { ArchiveReader, WindowLimits } from "../../archive/index.ts"
import {
  type CompiledFilters,
  type IsInTrace,
  type JsonObject,
  labelsOf,
  type ObjectEvent,
  type OwnerReference,
  Ownership,
  objectKey,
  ownerKey,
  readOwnerReferences,
} from "../../trace/index.ts"
import { type OwnerRule, type OwnerRules, ownerReferencesOf, timesOf } from "./export-window.ts"
import type { ExportJob } from "./exporter-interface.ts"

// Determines which owners are objects of the trace being written: everything they own, directly or not, is left out, because the
// controllers of the replay cluster create it again.
//
// An owner is one if its kind is exported, no filter leaves it out, and the window contains it. Its present state does not matter, nor does
// the order in which it and its objects were recorded (W-09).

/** The recording's facts: an ArchiveReader, with the owners of one moment. */
interface OwnerSource {
  ownersOf(owner: OwnerReference):
    | {
        /** Sequence number of the recorded object; `undefined` if there is none. */
        readonly gvk: string | undefined
        readonly namespace: string
        readonly name: string
        readonly ownerReferences: ReadonlyArray<OwnerReference>
      }
    | undefined
  presentObjects(gvk: string, limits: WindowLimits): ReadonlyMap<string, number>
  /** The metadata of the event with that number. */
  metadataAt(gvk: string, sequence: number): JsonObject | undefined
}

interface ExportedOwnersOptions {
  readonly limits: WindowLimits
  readonly kinds: ReadonlySet<string>
  readonly filters: CompiledFilters
  /** Whether objects of a kind with these owners are left out in any case (`skipOwned`, DaemonSets). */
  readonly isLeftOut: (gvk: string, references: ReadonlyArray<OwnerReference>) => boolean
}

class ExportedOwners {
  readonly #source: OwnerSource
  readonly #options: ExportedOwnersOptions
  readonly #present = new Map<string, ReadonlyMap<string, number>>()
  readonly #verdicts = new Map<string, boolean>()

  constructor(source: OwnerSource, options: ExportedOwnersOptions) {
    this.#source = source
    this.#options = options
  }

  /** Whether the object that an owner reference names is in the trace. @throws what reading the recording throws */
  has(reference: OwnerReference): boolean {
    const key = ownerKey(reference)
    const known = this.#verdicts.get(key)
    if (known !== undefined) return known
    const verdict = this.#judge(reference)
    this.#verdicts.set(key, verdict)
    return verdict
  }

  #judge(reference: OwnerReference): boolean {
    const { kinds, filters, isLeftOut } = this.#options
    const owner = this.#source.ownersOf(reference)
    if (owner?.gvk === undefined || !kinds.has(owner.gvk)) return false
    const { gvk, namespace, name, ownerReferences } = owner
    if (filters.excludesName(namespace, name) || isLeftOut(gvk, ownerReferences)) return false
    const sequence = this.#presentOf(gvk).get(reference.uid)
    if (sequence === undefined) return false
    if (!filters.needsLabels) return true
    const metadata = this.#source.metadataAt(gvk, sequence)
    return !filters.excludesLabels(labelsOf({ metadata: metadata ?? null }))
  }

  #presentOf(gvk: string): ReadonlyMap<string, number> {
    const known = this.#present.get(gvk)
    if (known !== undefined) return known
    const present = this.#source.presentObjects(gvk, this.#options.limits)
    this.#present.set(gvk, present)
    return present
  }
}

/** UIDs of an object's owners that are in the trace. */
export type KeptOwners = (event: ObjectEvent) => ReadonlyArray<string>

/** Objects and lifecycles share one walk of the graph, as it is at the end of the window. */
export interface OwnersInExport {
  readonly ownership: Ownership
  /** For one reading of the window. */
  readonly rules: () => OwnerRules
  /** By UID: the referenced owner is in the trace. */
  readonly isInTrace: IsInTrace
  readonly keptOwners: KeptOwners
}

export const ownersInExport = (
  reader: ArchiveReader,
  job: ExportJob,
  kinds: ReadonlyArray<string>,
  filters: CompiledFilters,
): OwnersInExport => {
  const skipOwned = new Set(job.skipOwned)
  const isLeftOutAnyway = (gvk: string, references: ReadonlyArray<OwnerReference>): boolean =>
    (skipOwned.has(gvk) && references.length > 0) ||
    (job.excludeDaemonSetOwned && references.some(({ kind }) => kind === "DaemonSet"))
  const graphOf = (ownersOf: OwnerSource["ownersOf"] & Look) => {
    const ownership = new Ownership({ ownersOf, recordedKinds: new Set(job.recordedKinds) })
    const source: OwnerSource = {
      ownersOf,
      presentObjects: (gvk, limits) => present(gvk, () => reader.presentObjects(gvk, limits)),
      metadataAt: (gvk, sequence) => reader.metadataAt(gvk, sequence),
    }
    const exported = new ExportedOwners(source, {
      limits: { cut: job.cut, fromTime: job.fromTime, untilTime: job.untilTime, ...timesOf(job) },
      kinds: new Set(kinds),
      filters,
      isLeftOut: isLeftOutAnyway,
    })
    const isLeftOut: OwnerRule = (gvk, references, uid) =>
      isLeftOutAnyway(gvk, references) ||
      (job.excludeOwned && ownership.isBelow(references, (owner) => exported.has(owner), { gvk, uid }))
    return { ownership, exported, isLeftOut }
  }
  const present = remembering<ReadonlyMap<string, number>>()
  const known = remembering<ReturnType<Look>>()
  const { ownership, exported, isLeftOut } = graphOf((owner) =>
    known(ownerKey(owner), () => reader.ownersOf(owner, job.untilTime, job.times)),
  )
  const areAsked = skipOwned.size > 0 || job.excludeDaemonSetOwned || job.excludeOwned
  const changes = job.excludeOwned ? reader.ownerChanges(job.fromTime, job.untilTime, job.times) : []
  const rules = (): OwnerRules => {
    if (changes.length === 0) return { areAsked, isLeftOut, change: false, nextChange: () => undefined }
    /** The owners of every owner that was asked about, at the moment. */
    const edges = new Map<string, ReturnType<Look>>()
    let moment = job.fromTime
    let index = 0
    const newGraph = () =>
      graphOf((owner) => {
        const key = ownerKey(owner)
        if (!edges.has(key)) edges.set(key, reader.ownersOf(owner, moment, job.times))
        return edges.get(key)
      })
    let graph = newGraph()
    return {
      areAsked,
      isLeftOut: (gvk, references, uid) => graph.isLeftOut(gvk, references, uid),
      change: true,
      nextChange: (until) => {
        for (let change = changes[index]; change !== undefined && change.time <= until; change = changes[++index]) {
          // What is known just before a moment includes this change from the next µs on.
          moment = change.time + 1
          // Most objects that get other owners own nothing.
          if (!edges.delete(objectKey(change.gvk, change.uid))) continue
          graph = newGraph()
          index++
          return change.time
        }
        return undefined
      },
    }
  }
  const keptOwners: KeptOwners = job.excludeOwned
    ? // What has an owner in the trace is left out, but in a circle of owners, whom references would not bring back.
      () => []
    : ({ object }) => ownerReferencesOf(object).flatMap((owner) => (exported.has(owner) ? [owner.uid] : []))
  const isInTrace: IsInTrace = (_gvk, _namespace, _name, reference) =>
    readOwnerReferences([reference]).some((owner) => exported.has(owner))
  return { ownership, rules, isInTrace, keptOwners }
}

type Look = (owner: OwnerReference) => ReturnType<ArchiveReader["ownersOf"]>

/** A few owners own many objects, and every object looks its owners up. Memory: one entry per key. */
const remembering = <Value>(): ((key: string, look: () => Value) => Value) => {
  const known = new Map<string, { readonly value: Value }>()
  return (key, look) => {
    const before = known.get(key)
    if (before !== undefined) return before.value
    const value = look()
    known.set(key, { value })
    return value
  }
}
