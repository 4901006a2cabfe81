/**
 * What an object of the trace would do to the whole target, beyond the replay: such parts are removed.
 *
 * A default class would be taken by every new claim and Ingress of the cluster, a label would add rules to the roles of its administrators,
 * and a binding would give the recorded cluster's users and groups rights in another one. A volume names a disk that may exist and belong to
 * the recorded cluster: when its copy is removed, a provisioner of the target must not delete that disk.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { changedAt } from "../../trace/json/extended-pointer.ts"
import { withMember, withoutMember } from "../../trace/json/members.ts"

/** By GVK: paths of members to remove. */
const effects: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<string>>> = new Map<
  string,
  ReadonlyArray<ReadonlyArray<string>>
>([
  [
    "storage.k8s.io/v1.StorageClass",
    [
      ["metadata", "annotations", "storageclass.kubernetes.io/is-default-class"],
      ["metadata", "annotations", "storageclass.beta.kubernetes.io/is-default-class"],
    ],
  ],
  ["networking.k8s.io/v1.IngressClass", [["metadata", "annotations", "ingressclass.kubernetes.io/is-default-class"]]],
  [
    "snapshot.storage.k8s.io/v1.VolumeSnapshotClass",
    [["metadata", "annotations", "snapshot.storage.kubernetes.io/is-default-class"]],
  ],
  ["scheduling.k8s.io/v1.PriorityClass", [["globalDefault"]]],
  [
    "rbac.authorization.k8s.io/v1.ClusterRole",
    ["admin", "edit", "view"].map((role) => ["metadata", "labels", `rbac.authorization.k8s.io/aggregate-to-${role}`]),
  ],
])

/** The object without effects outside of the replay. The input is not changed. */
export const contained = (gvk: string, object: JsonObject): JsonObject => {
  let left = object
  for (const path of effects.get(gvk) ?? []) left = withoutAt(left, path)
  if (gvk === "v1.PersistentVolume" && isJsonObject(left.spec))
    return withMember(left, "spec", withMember(left.spec, "persistentVolumeReclaimPolicy", "Retain"))
  if (gvk !== "rbac.authorization.k8s.io/v1.ClusterRoleBinding" || !Array.isArray(left.subjects)) return left
  const subjects = left.subjects as ReadonlyArray<JsonValue>
  return withMember(
    left,
    "subjects",
    subjects.filter((subject) => isJsonObject(subject) && subject.kind === "ServiceAccount"),
  )
}

const withoutAt = (object: JsonObject, path: ReadonlyArray<string>): JsonObject => {
  const changed = changedAt(object, path.slice(0, -1), (holder) => withoutMember(holder, path.at(-1) ?? ""))
  return isJsonObject(changed) ? changed : object
}
