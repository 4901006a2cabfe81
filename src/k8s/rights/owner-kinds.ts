/**
 * Which kinds a recorder may have to ask for because recorded objects belong to them.
 *
 * Owners are followed upwards until they end, through kinds that are not recorded too. Kubernetes' own controllers make the
 * same owners everywhere; those of other controllers are named by whoever installs the recorder.
 */
import { formatGvk, type GroupVersionKind, parseGvk } from "../../kube/gvk.ts"

/** Kinds of the owners that Kubernetes 1.34's controllers, kubelets included, give to objects of a kind. */
const builtInOwners: Readonly<Record<string, ReadonlyArray<string>>> = {
  // A static pod's mirror belongs to its Node.
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
  // Ephemeral volumes belong to their Pod; a StatefulSet may own its claims.
  "v1.PersistentVolumeClaim": ["apps/v1.StatefulSet", "v1.Pod"],
  "resource.k8s.io/v1.ResourceClaim": ["v1.Pod"],
  "resource.k8s.io/v1.ResourceSlice": ["v1.Node"],
  "storage.k8s.io/v1.CSINode": ["v1.Node"],
}

/**
 * Kinds that objects of `from` may belong to over any number of steps, `from` itself only where it is an owner too.
 * `further` are owners that nothing is known of: anything may belong to them.
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
