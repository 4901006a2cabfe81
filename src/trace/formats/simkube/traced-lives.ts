/**
 * The lives of pods, computed from a trace's own Pod objects: what a recorder computes as the events arrive
 * (src/trace/pods/pod-lifecycle.ts defines a life), computed again from a trace that has the pods with their `status`.
 *
 * By UID, as in a recording: a name that is used again is another pod. A pod is added with the first object in which it has run. An
 * unreadable object changes nothing. Only its status shows what a pod did before the trace's window, and the status does not record
 * restarted containers; lives are nevertheless cut at the window's start.
 *
 * Memory: one entry per pod that has run, about 150 bytes; owners that many pods share are kept once.
 */

import type { ObjectEvent } from "../../event.ts"
import { isJsonObject, type JsonObject, MalformedJsonError, parseExactJson } from "../../json/exact-json.ts"
import { type OwnerReference, readOwnerReferences } from "../../ownership/owner-references.ts"
import { endedLifetime, nextLifetime, observeLifetime, type PodLifetime } from "../../pods/pod-lifecycle.ts"
import { podKind } from "../../pods/pod-lives-kind.ts"
import { withoutManagedFields } from "../../sanitising/managed-fields.ts"
import { NestingTooDeepError } from "./hash/simkube-hash.ts"
import { stablePodSpecHash } from "./hash/stable-pod-spec.ts"
import { namespacedName, type OwnedLifecycles, type PodLifecycle } from "./simkube-trace.ts"

interface TracedPod {
  readonly namespace: string
  readonly name: string
  readonly specHash: bigint
  references: ReadonlyArray<OwnerReference>
  life: PodLifetime
  isGone: boolean
}

/** An owner in the trace: its kind, and `namespace/name` or `name`. */
export interface TracedOwner {
  readonly gvk: string
  readonly owner: string
}

/** µs since the Unix epoch; start inclusive, end exclusive. */
interface LivesWindow {
  readonly start: number
  readonly end: number
}

export class TracedLives {
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
  readOwnerReferences(isJsonObject(metadata) ? metadata.ownerReferences : undefined)

/** `undefined` if it is not an object; the encoder reports that. */
const parsedPod = (bytes: Uint8Array): JsonObject | undefined => {
  try {
    // A copy, because the bytes are overwritten.
    const value = parseExactJson(withoutManagedFields(Uint8Array.from(bytes)))
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof MalformedJsonError) return undefined
    throw error
  }
}

/** The pod itself, as an owner of its life. */
export const itself = (namespace: string, name: string): TracedOwner => ({
  gvk: podKind,
  owner: namespacedName(namespace, name),
})
