/** The facts about stored objects that admission and allocation need. */

import {
  badRequest,
  type Change,
  type Failure,
  keyOf,
  qualifiedName,
  type Resource,
  type ResourceRegistry,
} from "../../apiserver/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import { child, ensured, isAbsent, items, list, number, text, texts } from "../rules/fields.ts"
import type { Fields, MutableObject, Subresource } from "../rules/kind-rules.ts"
import { stateOf } from "../store/object-encoding.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { refuse } from "../store/refusal.ts"
import type { Randomness } from "../store/stamps.ts"
import { invalidObject, namespaceMissing, namespaceTerminating } from "./request/write-failures.ts"
import { allocateService, releaseService, type ServicePools, servicePools } from "./service-allocation.ts"
import type { WriteSurroundings } from "./surroundings.ts"

const suffixLength = 5

export class Admission {
  readonly #surroundings: Omit<AdmissionSurroundings, "suffix">
  readonly #pools: ServicePools = servicePools()

  /** Without `accounts` every Pod's account counts as existing, since the default ones are not created. */
  constructor(store: ObjectStore, registry: ResourceRegistry, accounts: boolean) {
    const statesOf = function* (gvk: string): Generator<MutableObject> {
      if (!registry.has(gvk)) return
      for (const { change } of store.collection(gvk).live.values()) yield stateOf(change)
    }
    this.#surroundings = {
      serviceAccount: (namespace, name) => {
        const found = store.collection("v1.ServiceAccount").live.get(keyOf(namespace, name))
        if (found !== undefined) return stateOf(found.change)
        return accounts ? undefined : noTokens
      },
      priorityClass: (name) => {
        for (const found of statesOf("scheduling.k8s.io/v1.PriorityClass")) {
          if (name === undefined ? found.globalDefault === true : found.metadata.name === name) return found
        }
        return undefined
      },
      defaultStorageClass: () => {
        for (const found of statesOf("storage.k8s.io/v1.StorageClass")) {
          const marked = child(found.metadata, "annotations")?.["storageclass.kubernetes.io/is-default-class"]
          if (marked === "true") return String(found.metadata.name)
        }
        return undefined
      },
    }
  }

  /** Changes a new object as the default admission plug-ins do. Throws Refusal. */
  admit(resource: Resource, object: MutableObject, random: Randomness): void {
    const suffix = (): string => random.suffix(suffixLength)
    const failure = admitCreate(resource, object, { ...this.#surroundings, suffix })
    if (failure !== undefined) refuse(failure)
  }

  /**
   * Allocates a valid Service's addresses and ports; after a dry run the next Service may get the same. Throws Refusal
   * if a pool is empty or a requested value is taken.
   */
  allocate(resource: Resource, object: MutableObject, old: MutableObject | undefined, dryRun: boolean): void {
    if (!isService(resource)) return
    const errors = allocateService(object, old, this.#pools)
    if (errors.length > 0) refuse(invalidObject(resource, String(object.metadata.name), errors))
    if (dryRun) releaseService(object, old, this.#pools)
  }

  /** Releases what a change no longer uses; `next` is `undefined` for a deletion. */
  release(resource: Resource, previous: Change, next: Change | undefined): void {
    if (!isService(resource)) return
    releaseService(stateOf(previous), next === undefined ? undefined : stateOf(next), this.#pools)
  }
}

const isService = (resource: Resource): boolean => formatGvk(resource.gvk) === "v1.Service"

/** An account without a mounted token. */
const noTokens: Fields = { automountServiceAccountToken: false }

// Whether an object may be created in its namespace, which must exist and must not be terminating.

const namespaceKind = "v1.Namespace"

/** Sets the namespace of the path; throws Refusal if the body of a namespaced kind names another one. */
export const settleNamespace = (resource: Resource, object: MutableObject, namespace: string): void => {
  const { metadata } = object
  const given = metadata.namespace ?? ""
  // A client's namespace for a cluster-scoped object is ignored.
  if (!resource.namespaced) {
    if (given !== "") delete metadata.namespace
  } else if (given === "") metadata.namespace = namespace
  else if (given !== namespace) {
    refuse(badRequest("the namespace of the provided object does not match the namespace sent on the request"))
  }
}

/** The admission plug-in NamespaceLifecycle, for creations. Throws Refusal: 404 or 403. */
export const admitNamespace = (
  { store }: WriteSurroundings,
  resource: Resource,
  namespace: string,
  name: string,
): void => {
  if (!resource.namespaced) return
  const found = store.collection(namespaceKind).live.get(namespace)
  if (found === undefined) refuse(namespaceMissing(namespace))
  else if (found.change.terminating === true) refuse(namespaceTerminating(resource, namespace, name))
}

// The admission plug-ins that Kubernetes 1.34 runs by default and that change or refuse objects: ServiceAccount,
// Priority, DefaultTolerationSeconds, TaintNodesByCondition, StorageObjectInUseProtection, DefaultStorageClass.
// LimitRanger, ResourceQuota and webhooks are on their own (limit-ranger.ts, quotas.ts, webhook-points.ts).

/** The parts of the server that admission needs. */
interface AdmissionSurroundings {
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
 * Changes a new object as admission does, after its defaults and before `prepareForCreate`. The object's namespace must
 * be set. Returns why it may not be created, or `undefined`.
 */
const admitCreate = (
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
