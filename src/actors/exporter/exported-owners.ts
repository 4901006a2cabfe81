/**
 * Determines which owners are objects of the trace being written: everything they own, directly or not, is left out, because the
 * controllers of the replay cluster create it again.
 *
 * An owner is one if its kind is exported, no filter leaves it out, and the window contains it. Its present state does not matter, nor does
 * the order in which it and its objects were recorded (W-09).
 */
import type { WindowLimits } from "../../archive/reading/present-objects.ts"
import type { JsonObject } from "../../trace/json/exact-json.ts"
import type { OwnerReference } from "../../trace/ownership/owner-references.ts"
import { ownerKey } from "../../trace/ownership/ownership.ts"
import { type CompiledFilters, labelsOf } from "../../trace/selection/filters.ts"

/** The recording's facts: an ArchiveReader, with the owners of one moment. */
export interface OwnerSource {
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

export class ExportedOwners {
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
