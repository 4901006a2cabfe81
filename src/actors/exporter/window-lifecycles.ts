/**
 * The pod lifecycles of a window, as SimKube's format groups them: by the first owner in the trace that tracks them, then by the hash of
 * the pod's stable spec, in order of first observation.
 *
 * SimKube's rules (docs/facts/simkube.md#pod-lifecycles), with these differences: pods are identified by UID, so a reused name adds a
 * lifecycle instead of overwriting one (W-30); a pod that spans the whole window is kept (W-33); the owner of a pod is determined by the export, with
 * everything that is known of the window, not when its first message happened to arrive (W-32). A pod that ends at or after the end of the window runs in
 * it, whenever the window is exported.
 */

import { namespacedName, type OwnedLifecycles, type PodLifecycle } from "../../trace/formats/simkube/simkube-trace.ts"
import type { OwnerReference } from "../../trace/ownership/owner-references.ts"
import type { Ownership } from "../../trace/ownership/ownership.ts"

/** Start and end are whole seconds since the Unix epoch. */
interface PodLife {
  readonly namespace: string
  readonly name: string
  readonly ownerReferences: ReadonlyArray<OwnerReference>
  readonly specHash: bigint
  readonly start: number
  readonly end: number | undefined
}

interface LifecycleWindow {
  /** µs since the Unix epoch; start inclusive, end exclusive. */
  readonly fromTime: number
  readonly untilTime: number
  /** Kinds with `trackLifecycle`. */
  readonly tracked: ReadonlySet<string>
  readonly ownership: Ownership
  /** Whether the trace's index has `namespace/name` (or `name`) of a kind. */
  readonly isIndexed: (gvk: string, name: string) => boolean
}

const second = 1_000_000
const podKind = "v1.Pod"

/** Reads and groups when iterated, which must be after the trace's index is complete. Memory: one entry per pod. */
export function* windowLifecycles(
  lives: () => Iterable<PodLife>,
  window: LifecycleWindow,
): Generator<OwnedLifecycles, void, void> {
  const fromSeconds = Math.floor(window.fromTime / second)
  const untilSeconds = Math.ceil(window.untilTime / second)
  const owned = new Map<string, { gvk: string; owner: string; pods: Map<bigint, Array<PodLifecycle>> }>()
  for (const life of lives()) {
    const isOutside = life.start >= untilSeconds || (life.end !== undefined && life.end < fromSeconds)
    if (isOutside) continue
    const owner = ownerInTrace(life, window)
    if (owner === undefined) continue
    const key = `${owner.gvk} ${owner.owner}`
    const entry = owned.get(key) ?? { ...owner, pods: new Map<bigint, Array<PodLifecycle>>() }
    owned.set(key, entry)
    const list = entry.pods.get(life.specHash) ?? []
    entry.pods.set(life.specHash, list)
    const start = Math.max(life.start, fromSeconds)
    list.push(
      life.end === undefined || life.end * second >= window.untilTime
        ? { state: "running", start }
        : { state: "finished", start, end: Math.max(life.end, start) },
    )
  }
  yield* owned.values()
}

/** The first owner in the chain that is in the trace and tracks lifecycles; for a pod without owners, the pod itself. */
const ownerInTrace = (
  life: PodLife,
  { tracked, ownership, isIndexed }: LifecycleWindow,
): { readonly gvk: string; readonly owner: string } | undefined => {
  if (life.ownerReferences.length === 0) {
    const owner = namespacedName(life.namespace, life.name)
    return tracked.has(podKind) && isIndexed(podKind, owner) ? { gvk: podKind, owner } : undefined
  }
  for (const { gvk, name } of ownership.ancestors(life.ownerReferences)) {
    if (!tracked.has(gvk)) continue
    // An owner is in its object's namespace, or in none.
    for (const owner of [namespacedName(life.namespace, name), name]) {
      if (isIndexed(gvk, owner)) return { gvk, owner }
    }
  }
  return undefined
}
