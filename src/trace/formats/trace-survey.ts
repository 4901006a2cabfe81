/**
 * What must be known of a whole trace before it can be written in a format that is replayed: which objects it holds, because owner
 * references to others go, in whatever order owner and owned stand in it; and the lives of its pods.
 *
 * Memory: the names and UIDs of all objects, the owners of those that have any, and an entry per pod that has run.
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

/** Add every item, then ask. */
export class TraceSurvey implements TraceFacts, OwnedObjects {
  /** By kind `namespace/name`. */
  readonly #names = new Map<string, Set<string>>()
  readonly #uids = new Set<string>()
  /** By UID, of objects that have owners; pods are nobody's. */
  readonly #owners = new Map<string, KnownOwners>()
  readonly #lives = new TracedLives()
  readonly ownership = new Ownership({ ownersOf: ({ uid }) => this.#owners.get(uid), recordedKinds: new Set() })
  #window: { readonly start: number; readonly end: number } | undefined
  #isReplayed = false

  add(item: TraceItem): void {
    if (item.type === "header") {
      this.#window = item.window
      this.#isReplayed = item.sanitised === "replay"
    } else if (item.type === "event" && item.event.type === "object") this.#event(item.event)
  }

  readonly isInTrace: IsInTrace = (gvk, namespace, name, { uid }) => {
    if (this.#names.get(gvk)?.has(namespacedName(namespace, name)) !== true) return false
    return typeof uid !== "string" || uid === "" || this.#uids.size === 0 || this.#uids.has(uid)
  }

  /** Whether it is known who owns what: SimKube's own traces have no UIDs, kwok's neither; NDJSON for replay has none in references. */
  get hasOwnerUids(): boolean {
    return this.#uids.size > 0 && !this.#isReplayed
  }

  readonly holds = (uid: string): boolean => this.#uids.has(uid)

  lifecycles(which: LivesOwner, isTracked: (gvk: string) => boolean): ReadonlyArray<OwnedLifecycles> {
    // What no window is known of was made without one: all of it counts.
    const window = this.#window ?? { start: Number.MIN_SAFE_INTEGER, end: Number.MAX_SAFE_INTEGER }
    return this.#lives.grouped(window, ({ namespace, name, references }) => {
      if (references.length === 0)
        return isTracked(podKind) && this.isInTrace(podKind, namespace, name, {}) ? itself(namespace, name) : undefined
      let [found, below]: [TracedOwner?, Ancestor?] = []
      for (const ancestor of this.ownership.ancestors(references)) {
        const { gvk, name: owner, uid } = ancestor
        const space = [namespace, ""].find((each) => isTracked(gvk) && this.isInTrace(gvk, each, owner, { uid }))
        // Owners that own each other have no outermost: the nearest of them, which is in the trace as they all are.
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
