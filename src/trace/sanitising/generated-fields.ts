/**
 * What the API server and controllers of one cluster write into objects, and another cluster rejects or misunderstands: the one table for
 * everything that is replayed.
 *
 * Not here: what belongs to the metadata of every object (replay-object.ts).
 */

import { memberOf } from "../../own-member.ts"
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, withProperty } from "../json/exact-json.ts"

/** One value to remove. */
interface GeneratedField {
  /** Property names from the object down; `*` means every element of an array. */
  readonly path: ReadonlyArray<string>
  /** Why it must go. */
  readonly reason: string
  /** Whether this value is generated. Default: always. */
  readonly isGenerated?: (value: JsonValue, object: JsonObject) => boolean
}

const jobLabels = ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"]

const hasOwnSelector = (job: JsonObject): boolean => isJsonObject(job.spec) && job.spec.manualSelector === true
const isGeneratedForJob = (_value: JsonValue, job: JsonObject): boolean => !hasOwnSelector(job)

/** The name of the volume with a pod's token, which admission adds: `kube-api-access-x7k2p`. */
const isTokenVolume = (value: JsonValue): boolean =>
  isJsonObject(value) && typeof value.name === "string" && /^kube-api-access-[a-z0-9]{5}$/.test(value.name)

const podSpecFields = (at: ReadonlyArray<string>): ReadonlyArray<GeneratedField> => [
  {
    path: [...at, "volumes", "*"],
    reason: "admission adds the volume of the service account's token to each pod",
    isGenerated: isTokenVolume,
  },
  ...["containers", "initContainers"].map((containers) => ({
    path: [...at, containers, "*", "volumeMounts", "*"],
    reason: "admission mounts the volume of the service account's token in each container",
    isGenerated: isTokenVolume,
  })),
]

/** By GVK. */
export const generatedFields: ReadonlyMap<string, ReadonlyArray<GeneratedField>> = new Map<
  string,
  ReadonlyArray<GeneratedField>
>([
  [
    "batch/v1.Job",
    [
      {
        path: ["spec", "selector"],
        reason: "the server selects by the Job's UID, and rejects another Job's selector",
        isGenerated: isGeneratedForJob,
      },
      ...jobLabels.flatMap((label) =>
        [["metadata"], ["spec", "template", "metadata"]].map((metadata) => ({
          path: [...metadata, "labels", label],
          reason: "the server labels the pods with the Job's UID and name, and rejects another Job's",
          isGenerated: isGeneratedForJob,
        })),
      ),
    ],
  ],
  [
    "v1.Service",
    [
      {
        path: ["spec", "clusterIP"],
        reason: "the server allocates it from its own range; None asks for none",
        isGenerated: (value) => value !== "None",
      },
      {
        path: ["spec", "clusterIPs"],
        reason: "as clusterIP",
        isGenerated: (value) => !(Array.isArray(value) && value[0] === "None"),
      },
      { path: ["spec", "ipFamilies"], reason: "they depend on the cluster's network" },
      {
        path: ["spec", "ipFamilyPolicy"],
        reason: "they depend on the cluster's network",
        isGenerated: (value) => value === "SingleStack",
      },
      { path: ["spec", "ports", "*", "nodePort"], reason: "a port of the nodes can be allocated only once" },
      { path: ["spec", "healthCheckNodePort"], reason: "a port of the nodes can be allocated only once" },
    ],
  ],
  [
    "v1.PersistentVolumeClaim",
    [
      { path: ["spec", "volumeName"], reason: "the volume exists only in the recorded cluster" },
      ...[
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "volume.kubernetes.io/selected-node",
        "volume.kubernetes.io/storage-provisioner",
        "volume.beta.kubernetes.io/storage-provisioner",
      ].map((annotation) => ({
        path: ["metadata", "annotations", annotation],
        reason: "a claim with it counts as bound, or waits for a node of the recorded cluster",
      })),
    ],
  ],
  [
    "v1.PersistentVolume",
    [
      ...["uid", "resourceVersion"].map((property) => ({
        path: ["spec", "claimRef", property],
        reason:
          "a volume that names the UID of a claim is bound to no other; without it, it is bound to the claim of that name",
      })),
      {
        path: ["metadata", "annotations", "pv.kubernetes.io/bound-by-controller"],
        reason: "with it the volume is given away as soon as its claim is missing",
      },
    ],
  ],
  [
    "v1.Pod",
    [
      ...podSpecFields(["spec"]),
      {
        path: ["spec", "serviceAccount"],
        reason: "deprecated copy of serviceAccountName, which the server writes again",
      },
      {
        path: ["spec", "priority"],
        reason: "admission computes it from the priority class, and rejects a different number",
      },
      { path: ["spec", "preemptionPolicy"], reason: "admission takes it from the priority class" },
      {
        path: ["spec", "nodeName"],
        reason: "the scheduler writes it, and the node exists only in the recorded cluster",
      },
      { path: ["spec", "ephemeralContainers"], reason: "the server accepts them only in their own subresource" },
    ],
  ],
  ["v1.ServiceAccount", [{ path: ["secrets"], reason: "they name token secrets of the recorded cluster" }]],
  [
    "apps/v1.Deployment",
    [
      {
        path: ["metadata", "annotations", "deployment.kubernetes.io/revision"],
        reason: "the Deployment controller counts revisions itself",
      },
    ],
  ],
  [
    "apps/v1.ReplicaSet",
    ["revision", "desired-replicas", "max-replicas", "revision-history"].map((name) => ({
      path: ["metadata", "annotations", `deployment.kubernetes.io/${name}`],
      reason: "the Deployment controller writes it itself",
    })),
  ],
  [
    "apps/v1.DaemonSet",
    [
      {
        path: ["metadata", "annotations", "deprecated.daemonset.template.generation"],
        reason: "the server counts generations itself",
      },
    ],
  ],
  [
    "autoscaling/v2.HorizontalPodAutoscaler",
    ["conditions", "current-metrics"].map((name) => ({
      path: ["metadata", "annotations", `autoscaling.alpha.kubernetes.io/${name}`],
      reason: "a status in another version of the API",
    })),
  ],
  [
    "v1.Namespace",
    [
      { path: ["spec", "finalizers"], reason: "the server writes it itself" },
      { path: ["metadata", "labels", "kubernetes.io/metadata.name"], reason: "the server writes it itself" },
    ],
  ],
])

/** The object without its generated fields; maps and arrays that become empty go too. The input is not changed. */
export const withoutGenerated = (gvk: string, object: JsonObject): JsonObject => {
  let left: JsonValue | undefined = object
  for (const field of generatedFields.get(gvk) ?? [])
    if (isJsonObject(left)) left = without(left, field.path, 0, (value) => field.isGenerated?.(value, object) ?? true)
  return isJsonObject(left) ? left : object
}

/** `undefined`: nothing is left of the value. */
const without = (
  value: JsonValue,
  path: ReadonlyArray<string>,
  depth: number,
  isRemoved: (value: JsonValue) => boolean,
): JsonValue | undefined => {
  if (depth === path.length) return isRemoved(value) ? undefined : value
  const key = path[depth] ?? ""
  if (isJsonList(value)) {
    if (key !== "*") return value
    const elements = value.map((element) => without(element, path, depth + 1, isRemoved))
    if (elements.every((element, index) => element === value[index])) return value
    const left = elements.filter((element) => element !== undefined)
    return left.length === 0 ? undefined : left
  }
  const before = isJsonObject(value) ? memberOf(value, key) : undefined
  if (!isJsonObject(value) || before === undefined) return value
  const after = without(before, path, depth + 1, isRemoved)
  if (after === before) return value
  let kept: Record<string, JsonValue> = {}
  for (const [name, given] of Object.entries(value)) {
    const property = name === key ? after : given
    if (property !== undefined) kept = withProperty(kept, name, property)
  }
  // An object must keep its spec, even an empty one.
  return Object.keys(kept).length === 0 && depth > 1 ? undefined : kept
}
