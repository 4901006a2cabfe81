/**
 * The lifecycles of the pods that run when a snapshot is taken, for SimKube's format: grouped by the first owner in the trace that tracks
 * them (the pod itself if it has none), then by the hash of the pod's stable spec. They begin with the trace, as in SimKube; pods that have
 * ended by then are omitted.
 */

import { stablePodSpecHash } from "../../trace/formats/simkube/hash/stable-pod-spec.ts"
import { namespacedName, type OwnedLifecycles, type PodLifecycle } from "../../trace/formats/simkube/simkube-trace.ts"
import { isJsonObject, type JsonObject } from "../../trace/json/exact-json.ts"
import type { OwnerReference } from "../../trace/ownership/owner-references.ts"
import { observeLifetime } from "../../trace/pods/pod-lifecycle.ts"
import type { SnapshotOwners } from "./snapshot-owners.ts"

interface RunningPod {
  readonly namespace: string
  readonly name: string
  readonly owners: ReadonlyArray<OwnerReference>
  readonly hash: bigint
}

/** The facts of the trace that decide about lifecycles. */
interface LivesInTrace {
  readonly owners: SnapshotOwners
  /** Kinds with `trackLifecycle`. */
  readonly tracked: ReadonlySet<string>
  /** Whether the trace holds `namespace/name` (or `name`) of a kind. */
  readonly isInTrace: (gvk: string, name: string) => boolean
  /** Unix seconds at which the trace begins. */
  readonly startSeconds: number
}

/** Memory: one entry per running pod. */
export class SnapshotLives {
  readonly #pods: RunningPod[] = []

  /** Adds a pod, if it runs. */
  observe(pod: JsonObject, namespace: string, name: string, owners: ReadonlyArray<OwnerReference>): void {
    const { spec, status } = pod
    const containers = isJsonObject(spec) && Array.isArray(spec.containers) ? spec.containers.length : undefined
    const observed = observeLifetime(status, () => containers)
    if (typeof observed === "string" || observed.start === undefined || observed.end !== undefined) return
    this.#pods.push({ namespace, name, owners, hash: stablePodSpecHash(spec) })
  }

  /** The lifecycles, grouped; unknown owners are looked up. */
  async *grouped(trace: LivesInTrace): AsyncGenerator<OwnedLifecycles, void> {
    const groups = new Map<string, { gvk: string; owner: string; pods: Map<bigint, PodLifecycle[]> }>()
    for (const pod of this.#pods) {
      const found = await ownerOf(pod, trace)
      if (found === undefined) continue
      const key = `${found.gvk} ${found.owner}`
      const group = groups.get(key) ?? { ...found, pods: new Map<bigint, PodLifecycle[]>() }
      groups.set(key, group)
      const lives = group.pods.get(pod.hash) ?? []
      group.pods.set(pod.hash, lives)
      // Lifecycles that began before the trace begin with it, as in SimKube's own exports.
      lives.push({ state: "running", start: trace.startSeconds })
    }
    yield* groups.values()
  }
}

const ownerOf = async (
  { namespace, name, owners: direct }: RunningPod,
  { owners, tracked, isInTrace }: LivesInTrace,
): Promise<{ readonly gvk: string; readonly owner: string } | undefined> => {
  if (direct.length === 0) {
    const owner = namespacedName(namespace, name)
    return tracked.has("v1.Pod") && isInTrace("v1.Pod", owner) ? { gvk: "v1.Pod", owner } : undefined
  }
  for await (const reference of owners.chain(direct, namespace)) {
    const gvk = `${reference.apiVersion}.${reference.kind}`
    if (!tracked.has(gvk)) continue
    for (const owner of [namespacedName(namespace, reference.name), reference.name])
      if (isInTrace(gvk, owner)) return { gvk, owner }
  }
  return undefined
}
