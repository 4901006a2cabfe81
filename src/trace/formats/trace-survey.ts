/**
 * The facts about a whole trace that a format for replay needs before it can be written: which objects it contains, because owner
 * references to others are removed, whatever the order of owner and owned object; and the lives of its pods.
 *
 * Memory: the names and UIDs of all objects, the owners of those that have any, and an entry per pod that ran.
 */

import type { ObjectEvent } from "../event.ts"
import { type Ancestor, type KnownOwners, Ownership } from "../ownership/ownership.ts"
import { podKind } from "../pods/pod-lives-kind.ts"
import type { IsInTrace } from "../sanitising/replay-object.ts"
import type { TraceItem } from "../trace-item.ts"
import type { LivesOwner, TraceFacts } from "./format.ts"
import { type OwnedObjects, ownerReferencesIn } from "./owned-items.ts"
import { namespacedName, type OwnedLifecycles } from "./simkube/simkube-trace.ts"
import { itself, TracedLives, type TracedOwner } from "./simkube/traced-lives.ts"

/** Add every item, then query the facts. */
export class TraceSurvey implements TraceFacts, OwnedObjects {
  /** `namespace/name` by kind. */
  readonly #names = new Map<string, Set<string>>()
  readonly #uids = new Set<string>()
  /** By UID, for objects that have owners; pods are left out because they own nothing. */
  readonly #owners = new Map<string, KnownOwners>()
  readonly #lives = new TracedLives()
  readonly ownership = new Ownership({ ownersOf: ({ uid }) => this.#owners.get(uid), recordedKinds: new Set() })
  #window: { readonly start: number; readonly end: number } | undefined
  #isReplayed = false

  add(item: TraceItem): void {
    if (item.type === "header") {
      const { window, livesFrom = window?.start } = item
      this.#window = window && { ...window, start: livesFrom ?? window.start }
      this.#isReplayed = item.sanitised === "replay"
    } else if (item.type === "event" && item.event.type === "object") this.#event(item.event)
  }

  readonly isInTrace: IsInTrace = (gvk, namespace, name, { uid }) => {
    if (this.#names.get(gvk)?.has(namespacedName(namespace, name)) !== true) return false
    return typeof uid !== "string" || uid === "" || this.#uids.size === 0 || this.#uids.has(uid)
  }

  /** Whether ownership is known: traces of SimKube and kwok have no UIDs, and NDJSON sanitised for replay has none in references. */
  get hasOwnerUids(): boolean {
    return this.#uids.size > 0 && !this.#isReplayed
  }

  readonly holds = (uid: string): boolean => this.#uids.has(uid)

  readonly holdsKind = (gvk: string): boolean => this.#names.has(gvk)

  lifecycles(which: LivesOwner, isTracked: (gvk: string) => boolean): ReadonlyArray<OwnedLifecycles> {
    // A trace without a window counts as a whole.
    const window = this.#window ?? { start: Number.MIN_SAFE_INTEGER, end: Number.MAX_SAFE_INTEGER }
    return this.#lives.grouped(window, ({ namespace, name, references }) => {
      if (references.length === 0)
        return isTracked(podKind) && this.isInTrace(podKind, namespace, name, {}) ? itself(namespace, name) : undefined
      let [found, below]: [TracedOwner?, Ancestor?] = []
      for (const ancestor of this.ownership.ancestors(references)) {
        const { gvk, name: owner, uid } = ancestor
        const space = [namespace, ""].find((each) => isTracked(gvk) && this.isInTrace(gvk, each, owner, { uid }))
        // Owners that own each other have no outermost one: the nearest is used, which is in the trace like all of them.
        if (space === undefined || (below !== undefined && this.ownership.ownEachOther(below, ancestor))) continue
        found = { gvk, owner: namespacedName(space, owner) }
        below = ancestor
        if (which === "first") break
      }
      return found
    })
  }

  #event(event: ObjectEvent): void {
    const { gvk, namespace, name, action, uid, object } = event
    this.#lives.observe(event)
    if (action !== "applied") return
    const names = this.#names.get(gvk) ?? new Set<string>()
    this.#names.set(gvk, names.add(namespacedName(namespace, name)))
    if (uid === "") return
    this.#uids.add(uid)
    if (gvk === podKind) return
    const references = ownerReferencesIn(object)
    if (references.length > 0) this.#owners.set(uid, { namespace, ownerReferences: references, source: "recorded" })
  }
}
