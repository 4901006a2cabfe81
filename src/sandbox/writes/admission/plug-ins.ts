/**
 * The admission plug-ins that Kubernetes 1.34 runs by default and that change or refuse objects: ServiceAccount,
 * Priority, DefaultTolerationSeconds, TaintNodesByCondition, StorageObjectInUseProtection, DefaultStorageClass.
 * LimitRanger, ResourceQuota and webhooks are on their own (writes/admission, writes/quotas, writes/webhooks).
 */

import type { Failure } from "../../../apiserver/answers/failure.ts"
import { qualifiedName, type Resource } from "../../../apiserver/kinds/resources.ts"
import { child, ensured, isAbsent, items, list, number, text, texts } from "../../rules/fields.ts"
import type { Fields, MutableObject, Subresource } from "../../rules/kind-rules.ts"

/** The parts of the server that admission needs. */
export interface AdmissionSurroundings {
  /** Five random characters of the alphabet of generated names. */
  readonly suffix: () => string
  /** A ServiceAccount as it is stored; `undefined` when there is none. */
  readonly serviceAccount: (namespace: string, name: string) => Fields | undefined
  /** A PriorityClass by its name; without a name, the global default. */
  readonly priorityClass: (name: string | undefined) => Fields | undefined
  /** The name of the default StorageClass, if there is one. */
  readonly defaultStorageClass: () => string | undefined
}

/**
 * Changes a new object as admission does, after its defaults and before `prepareForCreate`. The object's namespace must be
 * set. Returns why it may not be created, or `undefined`.
 */
export const admitCreate = (
  resource: Resource,
  object: MutableObject,
  surroundings: AdmissionSurroundings,
): Failure | undefined => {
  if (resource.gvk.group !== "") return undefined
  switch (resource.gvk.kind) {
    case "Pod":
      return admitPod(resource, object, surroundings)
    case "Node":
      return addTaint(ensured(object, "spec"))
    case "PersistentVolume":
      return addFinalizer(object, "kubernetes.io/pv-protection")
    case "PersistentVolumeClaim":
      chooseStorage(ensured(object, "spec"), surroundings)
      return addFinalizer(object, "kubernetes.io/pvc-protection")
    default:
      return undefined
  }
}

/** Changes the object that is to replace another one, after its defaults and before `prepareForUpdate`. */
export const admitUpdate = ({ gvk }: Resource, object: MutableObject, subresource: Subresource): void => {
  if (gvk.group !== "" || gvk.kind !== "Pod" || subresource !== "") return
  tolerate(ensured(object, "spec"))
}

/** Built-in PriorityClasses; the real server creates them at its start. */
const systemPriorities: ReadonlyMap<string, number> = new Map([
  ["system-node-critical", 2_000_001_000],
  ["system-cluster-critical", 2_000_000_000],
])

const refused = (resource: Resource, object: MutableObject, problem: string): Failure => {
  const name = text(object.metadata, "name")
  return {
    type: "failure",
    code: 403,
    reason: "Forbidden",
    message: `${qualifiedName(resource)} "${name}" is forbidden: ${problem}`,
    details: { name, kind: resource.plural },
  }
}

const admitPod = (resource: Resource, pod: MutableObject, surroundings: AdmissionSurroundings): Failure | undefined => {
  const spec = ensured(pod, "spec")
  const problem = useServiceAccount(pod, spec, surroundings) ?? resolvePriority(spec, surroundings)
  if (problem !== undefined) return refused(resource, pod, problem)
  tolerate(spec)
  return undefined
}

const useServiceAccount = (
  pod: MutableObject,
  spec: Fields,
  surroundings: AdmissionSurroundings,
): string | undefined => {
  // A mirror pod represents one that a kubelet runs by itself; the kubelet deletes it if it has changed.
  if (child(pod.metadata, "annotations")?.["kubernetes.io/config.mirror"] !== undefined) return undefined
  const name = text(spec, "serviceAccountName") || "default"
  const namespace = text(pod.metadata, "namespace")
  const account = surroundings.serviceAccount(namespace, name)
  if (account === undefined)
    return `error looking up service account ${namespace}/${name}: serviceaccount "${name}" not found`
  spec.serviceAccountName = name
  spec.serviceAccount = name
  const wanted = spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true
  if (wanted !== false) mountToken(spec, surroundings)
  if (list(spec, "imagePullSecrets").length === 0 && list(account, "imagePullSecrets").length > 0)
    spec.imagePullSecrets = items(account, "imagePullSecrets").map((secret) => ({ name: text(secret, "name") }))
  return undefined
}

const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
const tokenVolume = "kube-api-access-"

/** 3607 rather than 3600 seconds: the server warns about old clients by exactly this number. */
const tokenSources = (): Fields => ({
  defaultMode: 0o644,
  sources: [
    { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    {
      downwardAPI: {
        items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
      },
    },
  ],
})

const mountToken = (spec: Fields, { suffix }: AdmissionSurroundings): void => {
  const present = items(spec, "volumes")
    .map((volume) => text(volume, "name"))
    .find((name) => name.startsWith(tokenVolume))
  const without = ["initContainers", "containers"]
    .flatMap((key) => items(spec, key))
    .filter((container) => !items(container, "volumeMounts").some((mount) => mount.mountPath === tokenPath))
  if (without.length === 0) return
  const name = present ?? tokenVolume + suffix()
  for (const container of without)
    container.volumeMounts = [...list(container, "volumeMounts"), { name, readOnly: true, mountPath: tokenPath }]
  if (present === undefined) spec.volumes = [...list(spec, "volumes"), { name, projected: tokenSources() }]
}

const resolvePriority = (spec: Fields, { priorityClass }: AdmissionSurroundings): string | undefined => {
  const name = text(spec, "priorityClassName")
  const found = priorityClass(name === "" ? undefined : name)
  const known = systemPriorities.get(name)
  if (name !== "" && found === undefined && known === undefined) return `no PriorityClass with name ${name} was found`
  const priority = number(found, "value") ?? known ?? 0
  const policy = text(found, "preemptionPolicy") || "PreemptLowerPriority"
  const given = number(spec, "priority")
  if (given !== undefined && given !== priority)
    return (
      `the integer value of priority (${given}) must not be provided in pod spec; priority admission controller ` +
      `computed ${priority} from the given PriorityClass name`
    )
  const givenPolicy = text(spec, "preemptionPolicy")
  if (givenPolicy !== "" && givenPolicy !== policy)
    return (
      `the string value of PreemptionPolicy (${givenPolicy}) must not be provided in pod spec; priority admission ` +
      `controller computed ${policy} from the given PriorityClass name`
    )
  if (name === "" && found !== undefined) spec.priorityClassName = text(child(found, "metadata"), "name")
  spec.priority = priority
  spec.preemptionPolicy = policy
  return undefined
}

/** s: how long a pod stays on a lost node. */
const tolerationSeconds = 300

const tolerate = (spec: Fields): void => {
  const given = items(spec, "tolerations")
  const matches = (toleration: Fields, key: string): boolean =>
    ["", key].includes(text(toleration, "key")) && ["", "NoExecute"].includes(text(toleration, "effect"))
  const added = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
    .filter((key) => !given.some((toleration) => matches(toleration, key)))
    .map((key) => ({ key, operator: "Exists", effect: "NoExecute", tolerationSeconds }))
  if (added.length > 0) spec.tolerations = [...given, ...added]
}

const addTaint = (spec: Fields): undefined => {
  const key = "node.kubernetes.io/not-ready"
  const taints = items(spec, "taints")
  if (taints.some((taint) => taint.key === key && taint.effect === "NoSchedule")) return
  spec.taints = [...taints, { key, effect: "NoSchedule" }]
}

const addFinalizer = ({ metadata }: MutableObject, name: string): undefined => {
  const finalizers = texts(metadata, "finalizers")
  if (!finalizers.includes(name)) metadata.finalizers = [...finalizers, name]
}

const chooseStorage = (spec: Fields, { defaultStorageClass }: AdmissionSurroundings): void => {
  if (!isAbsent(spec.storageClassName)) return
  const name = defaultStorageClass()
  if (name !== undefined) spec.storageClassName = name
}
