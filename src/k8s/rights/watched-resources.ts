/** Resolves the kinds of a configuration to the resources that its recording reads, with a cluster's discovery or a table. */
import type { ApiResource, Discovery } from "../../kube/index.ts"
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/offline.ts"
import { recordedWhole, type TrackedKind, watchedKinds } from "../../recorder/index.ts"
import type { WatchedResource } from "./permissions.ts"

// The kinds that a recorder may have to look up because their objects own recorded ones.
//
// Owners are followed up to the root, also through kinds that are not recorded. Kubernetes' own controllers set the same owners
// everywhere; the owner kinds of other controllers are named by the user who installs the recorder.

/** Kinds of the owners that the controllers and kubelets of Kubernetes 1.34 set on objects of a kind. */
const builtInOwners: Readonly<Record<string, ReadonlyArray<string>>> = {
  // The mirror pod of a static pod is owned by its Node.
  "v1.Pod": [
    "apps/v1.DaemonSet",
    "apps/v1.ReplicaSet",
    "apps/v1.StatefulSet",
    "batch/v1.Job",
    "v1.Node",
    "v1.ReplicationController",
  ],
  "apps/v1.ReplicaSet": ["apps/v1.Deployment"],
  "apps/v1.ControllerRevision": ["apps/v1.DaemonSet", "apps/v1.StatefulSet"],
  "batch/v1.Job": ["batch/v1.CronJob"],
  "coordination.k8s.io/v1.Lease": ["v1.Node"],
  "discovery.k8s.io/v1.EndpointSlice": ["v1.Endpoints", "v1.Service"],
  // Claims of ephemeral volumes are owned by their Pod; a StatefulSet may own its claims.
  "v1.PersistentVolumeClaim": ["apps/v1.StatefulSet", "v1.Pod"],
  "resource.k8s.io/v1.ResourceClaim": ["v1.Pod"],
  "resource.k8s.io/v1.ResourceSlice": ["v1.Node"],
  "storage.k8s.io/v1.CSINode": ["v1.Node"],
}

/**
 * Kinds that can own objects of `from` directly or indirectly; `from` itself is included only if it is an owner too.
 * `further` are owner kinds about which nothing is known: they may own anything.
 */
const ownersAbove = (
  from: ReadonlyArray<GroupVersionKind>,
  further: ReadonlyArray<GroupVersionKind>,
): ReadonlyArray<GroupVersionKind> => {
  const found = new Map(further.map((gvk) => [formatGvk(gvk), gvk]))
  const open = [...from, ...further].map(formatGvk)
  for (const kind of open) {
    for (const owner of Object.hasOwn(builtInOwners, kind) ? (builtInOwners[kind] ?? []) : []) {
      const gvk = parseGvk(owner)
      if (gvk === undefined || found.has(owner)) continue
      found.set(owner, gvk)
      open.push(owner)
    }
  }
  return [...found.values()]
}

interface WatchedResources {
  readonly watched: ReadonlyArray<WatchedResource>
  /** Kinds that could not be resolved to a resource, so that there is no rule for them. */
  readonly unresolved: ReadonlyArray<Unresolved>
}

export interface Unresolved {
  readonly gvk: string
  /** Whether discovery found that the kind does not exist; otherwise discovery failed. */
  readonly isAbsent: boolean
  readonly detail: string
}

export type Resolve = (gvk: GroupVersionKind) => Promise<Discovery>

/**
 * @param further kinds that own recorded objects, in addition to the owner kinds of Kubernetes' own controllers.
 * @param isInShards whether several recorders share the kinds: then an owner may be of a kind that another one records.
 */
export const watchedResources = async (
  kinds: ReadonlyArray<TrackedKind>,
  further: ReadonlyArray<GroupVersionKind>,
  resolve: Resolve,
  isInShards = false,
): Promise<WatchedResources> => {
  const answers = new Map<string, Promise<Discovery>>()
  const unresolved = new Map<string, Unresolved>()
  const find = async (gvk: GroupVersionKind, isNeeded: boolean): Promise<ApiResource | undefined> => {
    const name = formatGvk(gvk)
    const answer = answers.get(name) ?? resolve(gvk)
    answers.set(name, answer)
    const found = await answer
    if (found.tag === "found") return found.resource
    // An owner kind that is not installed owns nothing.
    if (isNeeded || found.tag !== "absent") {
      unresolved.set(name, { gvk: name, isAbsent: found.tag === "absent", detail: detailOf(found) })
    }
    return undefined
  }
  const whole = new Set(isInShards ? [] : recordedWhole(kinds))
  const watched: WatchedResource[] = []
  for (const kind of watchedKinds(kinds).kinds) {
    const resource = await find(kind.gvk, true)
    if (resource === undefined) continue
    const owners: ApiResource[] = []
    for (const gvk of ownersAbove([kind.gvk], further)) {
      if (whole.has(formatGvk(gvk))) continue
      const found = await find(gvk, further.includes(gvk))
      if (found !== undefined) owners.push(found)
    }
    watched.push({ kind, resource, owners })
  }
  return { watched, unresolved: [...unresolved.values()] }
}

const detailOf = (answer: Exclude<Discovery, { tag: "found" }>): string => {
  if (answer.tag !== "failed") return answer.detail
  const { code, reason, message } = answer.status
  return code === 401 ? `HTTP 401 ${reason}: ${message}` : message
}
