/**
 * Which owners are objects of the trace being written: whatever they own, over any number of steps, is left out, because
 * whoever replays the trace makes it again from them.
 *
 * An owner is one if its kind is exported, no filter leaves it out, and the window holds it. What it is by now does not
 * count, nor does the order in which it and its objects were recorded (W-09).
 */
import type { WindowLimits } from "../../trace/archive/present-objects.ts"
import type { JsonObject } from "../../trace/exact-json.ts"
import { type CompiledFilters, labelsOf } from "../../trace/filters.ts"
import type { OwnerReference } from "../../trace/owner-references.ts"
import { gvkOfReference } from "../../trace/ownership.ts"

/** What the recording says; an ArchiveReader. */
export interface OwnerSource {
  ownersOf(owner: OwnerReference):
    | {
        readonly namespace: string
        readonly name: string
        readonly ownerReferences: ReadonlyArray<OwnerReference>
        readonly source: string
      }
    | undefined
  presentObjects(gvk: string, limits: WindowLimits): ReadonlyMap<string, number>
  /** The metadata of the event with that number. */
  metadataAt(gvk: string, sequence: number): JsonObject | undefined
}

export interface ExportedOwnersOptions {
  readonly limits: WindowLimits
  readonly kinds: ReadonlySet<string>
  readonly filters: CompiledFilters
  /** Whether objects of a kind with these owners are left out anyway (`skipOwned`, DaemonSets). */
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

  /** Whether the object that somebody names as an owner is in the trace. @throws as the recording does */
  has(reference: OwnerReference): boolean {
    const known = this.#verdicts.get(reference.uid)
    if (known !== undefined) return known
    const verdict = this.#judge(gvkOfReference(reference), reference)
    this.#verdicts.set(reference.uid, verdict)
    return verdict
  }

  #judge(gvk: string, reference: OwnerReference): boolean {
    const { kinds, filters, isLeftOut } = this.#options
    if (!kinds.has(gvk)) return false
    const owner = this.#source.ownersOf(reference)
    if (owner === undefined || owner.source !== "recorded") return false
    if (filters.excludesName(owner.namespace, owner.name) || isLeftOut(gvk, owner.ownerReferences)) return false
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
