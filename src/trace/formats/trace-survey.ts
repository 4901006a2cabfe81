/**
 * The facts about a whole trace that a format for replay needs before it can be written: which objects it contains, because owner
 * references to others are removed, whatever the order of owner and owned object; and the lives of its pods.
 *
 * Memory: the names and UIDs of all objects, the owners of those that have any, and an entry per pod that ran.
 */

import type { ObjectEvent } from "../event.ts"
import { exactJsonIn, isJsonObject, type JsonObject } from "../json/exact-json.ts"
import { memberIn } from "../json/members.ts"
import { type OwnerReference, readOwnerReferences } from "../ownership/owner-references.ts"
import { type Ancestor, type KnownOwners, Ownership } from "../ownership/ownership.ts"
import { endedLifetime, nextLifetime, observeLifetime, type PodLifetime } from "../pods/pod-lifecycle.ts"
import { podKind } from "../pods/pod-lives-kind.ts"
import { withoutManagedFields } from "../sanitising/managed-fields.ts"
import type { IsInTrace } from "../sanitising/replay-object.ts"
import { namespacedName, type OwnedLifecycles, type PodLifecycle, type TraceItem } from "../trace-item.ts"
import type { LivesOwner, TraceFacts } from "./format.ts"
import { type OwnedObjects, ownerReferencesIn } from "./owned-items.ts"
import { NestingTooDeepError } from "./simkube/hash/simkube-hash.ts"
import { stablePodSpecHash } from "./simkube/hash/stable-pod-spec.ts"

interface TracedPod {
  readonly namespace: string
  readonly name: string
  readonly specHash: bigint
  references: ReadonlyArray<OwnerReference>
  life: PodLifetime
  isGone: boolean
}

/** An owner in the trace: its kind, and `namespace/name` or `name`. */
interface TracedOwner {
  readonly gvk: string
  readonly owner: string
}

/** µs since the Unix epoch; start inclusive, end exclusive. */
interface LivesWindow {
  readonly start: number
  readonly end: number
}

/**
 * The lives of pods, computed from the trace's own Pod objects as a recorder does when they arrive (pods/pod-lifecycle.ts).
 * By UID: a name that is used again is another pod. A pod is added with the first object in which it has run; an unreadable
 * object changes nothing. Lives are cut at the window's start. Memory: about 150 bytes for each pod that has run.
 */
class TracedLives {
  /** By UID, in the order in which they first ran. */
  readonly #pods = new Map<string, TracedPod>()
  readonly #shared = new Map<string, ReadonlyArray<OwnerReference>>()

  /** One event of the trace, in its order. Ignores events of other kinds, and of objects without a UID. */
  observe({ gvk, uid, namespace, name, action, time, object }: ObjectEvent): void {
    if (gvk !== podKind || uid === "") return
    const known = this.#pods.get(uid)
    if (known?.isGone === true) return
    const seconds = Math.floor(time / 1_000_000)
    const pod = action === "vanished" ? undefined : parsedPod(object)
    if (pod === undefined) {
      if (known !== undefined && action !== "applied") end(known, seconds)
      return
    }
    const life = lifeAfter(known?.life, pod)
    if (life === undefined) return
    const entry = known ?? this.#meet(uid, namespace, name, pod, life)
    if (entry === undefined) return
    entry.life = life
    const references = referencesOf(pod)
    // Owners that a pod has lost remain those of its life.
    if (references.length > 0) entry.references = this.#once(references)
    if (action === "deleted") end(entry, seconds)
  }

  /** Lives that touch the window, grouped by owner and then by spec, without pods that have no owner in the trace. */
  grouped(
    window: LivesWindow,
    ownerOf: (pod: {
      readonly namespace: string
      readonly name: string
      readonly references: ReadonlyArray<OwnerReference>
    }) => TracedOwner | undefined,
  ): ReadonlyArray<OwnedLifecycles> {
    const [from, until] = [Math.floor(window.start / 1_000_000), Math.ceil(window.end / 1_000_000)]
    const groups = new Map<string, TracedOwner & { readonly pods: Map<bigint, PodLifecycle[]> }>()
    for (const pod of this.#pods.values()) {
      const { start, end: ended } = pod.life
      if (start >= until || (ended !== undefined && ended < from)) continue
      const owner = ownerOf(pod)
      if (owner === undefined) continue
      const key = `${owner.gvk} ${owner.owner}`
      const group = groups.get(key) ?? { ...owner, pods: new Map<bigint, PodLifecycle[]>() }
      groups.set(key, group)
      const lives = group.pods.get(pod.specHash) ?? []
      group.pods.set(pod.specHash, lives)
      const begin = Math.max(start, from)
      lives.push(
        ended === undefined
          ? { state: "running", start: begin }
          : { state: "finished", start: begin, end: Math.max(ended, begin) },
      )
    }
    return [...groups.values()]
  }

  #meet(uid: string, namespace: string, name: string, pod: JsonObject, life: PodLifetime): TracedPod | undefined {
    const specHash = hashOf(pod)
    if (specHash === undefined) return undefined
    const entry = { namespace, name, specHash, references: noOwners, life, isGone: false }
    this.#pods.set(uid, entry)
    return entry
  }

  #once(references: ReadonlyArray<OwnerReference>): ReadonlyArray<OwnerReference> {
    const key = JSON.stringify(references)
    const shared = this.#shared.get(key) ?? references
    this.#shared.set(key, shared)
    return shared
  }
}

const noOwners: ReadonlyArray<OwnerReference> = []

const end = (pod: TracedPod, seconds: number): void => {
  pod.life = endedLifetime(pod.life, seconds)
  pod.isGone = true
}

const lifeAfter = (before: PodLifetime | undefined, { spec, status }: JsonObject): PodLifetime | undefined => {
  const observed = observeLifetime(status, () =>
    isJsonObject(spec) && Array.isArray(spec.containers) ? spec.containers.length : undefined,
  )
  return typeof observed === "string" ? before : nextLifetime(before, observed)
}

/** `undefined` if it cannot be computed. */
const hashOf = ({ spec }: JsonObject): bigint | undefined => {
  try {
    return stablePodSpecHash(spec)
  } catch (error) {
    if (error instanceof NestingTooDeepError) return undefined
    throw error
  }
}

const referencesOf = ({ metadata }: JsonObject): ReadonlyArray<OwnerReference> =>
  readOwnerReferences(memberIn(metadata, "ownerReferences"))

/** `undefined` if it is not an object; the encoder reports that. */
const parsedPod = (bytes: Uint8Array): JsonObject | undefined => {
  // A copy, because the bytes are overwritten.
  const value = exactJsonIn(withoutManagedFields(Uint8Array.from(bytes)))
  return isJsonObject(value) ? value : undefined
}

/** The pod itself, as an owner of its life. */
const itself = (namespace: string, name: string): TracedOwner => ({
  gvk: podKind,
  owner: namespacedName(namespace, name),
})

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
