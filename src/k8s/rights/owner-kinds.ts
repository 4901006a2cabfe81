/**
 * The kinds that a recorder may have to look up because their objects own recorded ones.
 *
 * Owners are followed up to the root, also through kinds that are not recorded. Kubernetes' own controllers set the same owners
 * everywhere; the owner kinds of other controllers are named by the user who installs the recorder.
 */
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/gvk.ts"

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
export const ownersAbove = (
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
