/**
 * Binds every PersistentVolumeClaim at once: to an existing volume that matches, else to a new, empty one, whatever its
 * storage class. No volume is made for a claim of the class "", of a class without a provisioner, or that names its
 * volume: it waits for one. Removes the protection finalizer of a claim that is being deleted once no Pod uses it.
 */

import { type Controller, keyOf, objectKey, recordAs, type Surroundings } from "../../host/index.ts"
import {
  AlreadyExistsError,
  type ApiObject,
  kinds,
  type Pod,
  type SelectorObject,
  type StringMap,
} from "../../kube/index.ts"
import { quantityOf, selectorMatches } from "../../kube/offline.ts"
import { objectController } from "./pods/object-controller.ts"
import { isFinished } from "./pods/pods.ts"

// Which existing volume a claim is bound to (pkg/volume/util, FindMatchingVolume).

/**
 * The volume that the claim names or that is reserved for it, else the smallest free one that is large enough and of
 * its class, mode and access; of several the first by name. `undefined` if there is none yet.
 */
const matchingVolume = (claim: Claim, volumes: Iterable<Volume>): Volume | undefined => {
  let best: Volume | undefined
  for (const volume of volumes) {
    if (volume.metadata.deletionTimestamp !== undefined || !isWanted(volume, claim)) continue
    if (isFor(volume, claim)) return volume
    if (volume.spec.claimRef !== undefined || !fits(volume, claim)) continue
    if (best === undefined || comesBefore(volume, best)) best = volume
  }
  return best
}

const isWanted = ({ metadata }: Volume, { spec }: Claim): boolean =>
  isBlank(spec.volumeName) || spec.volumeName === metadata.name

const fits = (volume: Volume, { spec }: Claim): boolean => {
  const { storageClassName = "", volumeMode = "Filesystem", accessModes = [], selector } = spec
  const isNamed = !isBlank(spec.volumeName)
  return (
    (isNamed || (volume.spec.storageClassName ?? "") === storageClassName) &&
    (volume.spec.volumeMode ?? "Filesystem") === volumeMode &&
    accessModes.every((mode) => volume.spec.accessModes?.includes(mode)) &&
    sizeOf(volume) >= (quantityOf(spec.resources?.requests?.storage) ?? 0) &&
    (isNamed || selector === undefined || selectorMatches(selector, volume.metadata.labels))
  )
}

const sizeOf = ({ spec }: Volume): number => quantityOf(spec.capacity?.storage) ?? 0

const comesBefore = (volume: Volume, other: Volume): boolean => {
  const difference = sizeOf(volume) - sizeOf(other)
  return difference < 0 || (difference === 0 && volume.metadata.name < other.metadata.name)
}

interface StorageClass extends ApiObject {
  readonly provisioner?: string
  readonly reclaimPolicy?: string
}

const protection = "kubernetes.io/pvc-protection"
const provisioner = "sandbox.kubereel.dev/provisioner"

const classOf = ({ cluster }: Surroundings, { spec }: Claim): StorageClass | undefined =>
  cluster.cache<StorageClass>(kinds.storageClasses).get(undefined, spec.storageClassName ?? "")

/** Why no volume is made for the claim; `undefined` if one is. */
const reasonToWait = (surroundings: Surroundings, claim: Claim): string | undefined => {
  const { storageClassName, volumeName } = claim.spec
  if (!isBlank(volumeName))
    return `volume "${volumeName}" does not exist, is not large enough, or belongs to another claim`
  if (storageClassName === "") return "no persistent volumes available for this claim and no storage class is set"
  if (classOf(surroundings, claim)?.provisioner === "kubernetes.io/no-provisioner")
    return `no persistent volumes available for this claim, and storage class "${storageClassName}" has no provisioner`
  return undefined
}

const volumeFor = (surroundings: Surroundings, claim: Claim): Volume => {
  const name = `pvc-${claim.metadata.uid}`
  return {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
    spec: {
      capacity: { storage: claim.spec.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: classOf(surroundings, claim)?.reclaimPolicy ?? "Delete",
      storageClassName: claim.spec.storageClassName ?? "",
      volumeMode: claim.spec.volumeMode ?? "Filesystem",
      hostPath: { path: `/sandbox/${name}` },
      claimRef: referenceTo(claim),
    },
  }
}

const provision = async (surroundings: Surroundings, claim: Claim): Promise<Volume | undefined> => {
  const { cluster, events } = surroundings
  const waits = reasonToWait(surroundings, claim)
  if (waits === undefined) {
    const volume = volumeFor(surroundings, claim)
    try {
      return await cluster.create(kinds.volumes, volume)
    } catch (error) {
      // Made by an earlier attempt that did not get further.
      if (!(error instanceof AlreadyExistsError)) throw error
      return volume
    }
  }
  recordAs(events, { component: "persistentvolume-controller" })(claim, "Normal", "FailedBinding", waits)
  return undefined
}

const bind = async (surroundings: Surroundings, claim: Claim): Promise<void> => {
  const { cluster } = surroundings
  const found = matchingVolume(claim, cluster.cache<Volume>(kinds.volumes).all())
  const volume = found ?? (await provision(surroundings, claim))
  if (volume === undefined) return
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
    const { resourceVersion } = volume.metadata
    const annotations = { "pv.kubernetes.io/bound-by-controller": "yes" }
    // With the version, so that of two claims only one gets the volume; the other tries again.
    await cluster.patch<Volume>(kinds.volumes, volume, "merge", {
      metadata: { resourceVersion, ...(!isFor(volume, claim) && { annotations }) },
      spec: { claimRef: referenceTo(claim) },
    })
  }
  if (isBlank(claim.spec.volumeName)) {
    const annotations = { "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes" }
    await cluster.patch<Claim>(kinds.claims, claim, "merge", {
      metadata: { annotations },
      spec: { volumeName: volume.metadata.name },
    })
  }
  const { accessModes, capacity } = volume.spec
  await cluster.patch<Claim>(
    kinds.claims,
    claim,
    "merge",
    { status: { phase: "Bound", accessModes, capacity } },
    "status",
  )
}

/** The controller of claims. */
export const claimBinder = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const claims = cluster.cache<Claim>(kinds.claims)
  const volumes = cluster.cache<Volume>(kinds.volumes)
  // Watched for provisioning.
  cluster.cache<StorageClass>(kinds.storageClasses)
  const pods = cluster.cache<Pod>(kinds.pods)

  const isUsed = (claim: Claim): boolean =>
    pods.inNamespace(claim.metadata.namespace).some(
      (pod) =>
        !isFinished(pod) &&
        pod.spec.volumes?.some((volume) => {
          const source = volume.persistentVolumeClaim as { readonly claimName?: string } | undefined
          return source?.claimName === claim.metadata.name
        }),
    )

  const release = async (claim: Claim): Promise<void> => {
    const { finalizers = [], uid } = claim.metadata
    if (!finalizers.includes(protection) || isUsed(claim)) return
    const left = finalizers.filter((finalizer) => finalizer !== protection)
    await cluster.patch<Claim>(kinds.claims, claim, "merge", { metadata: { uid, finalizers: left } })
  }

  const reconcile = async (claim: Claim): Promise<void> => {
    if (claim.metadata.deletionTimestamp !== undefined) return release(claim)
    if (!isBound(claim)) await bind(surroundings, claim)
  }

  const controller = objectController(surroundings, { name: "volume-binder", kind: kinds.claims }, reconcile)
  volumes.onChange((changes) => {
    if (!changes.some(({ current }) => current !== undefined && current.status?.phase !== "Bound")) return
    for (const claim of claims.all()) if (!isBound(claim)) controller.enqueue(keyOf(claim))
  })
  // A claim that is being deleted waits for its last Pod.
  pods.onChange((changes) => {
    for (const { previous, current } of changes) {
      if (previous === undefined || (current !== undefined && !isFinished(current))) continue
      for (const claim of claims.inNamespace(previous.metadata.namespace)) {
        if (claim.metadata.deletionTimestamp !== undefined) controller.enqueue(keyOf(claim))
      }
    }
  })
  return controller
}

const isBound = ({ status }: Claim): boolean => status?.phase === "Bound"

const referenceTo = ({ metadata: { namespace, name, uid } }: Claim): ClaimReference => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  namespace,
  name,
  uid,
})

// Claims and volumes as their two controllers see them.

/** A PersistentVolumeClaim. */
export interface Claim extends ApiObject {
  readonly spec: {
    readonly volumeName?: string
    readonly accessModes?: ReadonlyArray<string>
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly selector?: SelectorObject
    readonly resources?: { readonly requests?: StringMap }
  }
  readonly status?: { readonly phase?: string }
}

/** A PersistentVolume. */
export interface Volume extends ApiObject {
  readonly spec: {
    readonly claimRef?: ClaimReference | undefined
    readonly capacity?: StringMap
    readonly accessModes?: ReadonlyArray<string>
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly persistentVolumeReclaimPolicy?: string
    readonly [member: string]: unknown
  }
  readonly status?: { readonly phase?: string; readonly lastPhaseTransitionTime?: string }
}

/** The claim that a volume is bound to or, without a UID, reserved for. */
interface ClaimReference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
}

/** Whether a volume is bound to that claim or reserved for it. */
const isFor = ({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean =>
  claimRef?.name === metadata.name &&
  claimRef.namespace === metadata.namespace &&
  (isBlank(claimRef.uid) || claimRef.uid === metadata.uid)

/** What the server stores for a member that is not set. */
const isBlank = (text: string | undefined): boolean => text === undefined || text === ""

// The life of PersistentVolumes besides their binding: phases, what becomes of a volume whose claim is gone (`Retain`,
// `Delete`, `Recycle`), and the protection finalizer of one that is being deleted, which goes when no claim is bound to
// it.

const volumeProtection = "kubernetes.io/pv-protection"

/** The controller of volumes. */
export const volumeReclaimer = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const claims = cluster.cache<Claim>(kinds.claims)
  const volumes = cluster.cache<Volume>(kinds.volumes)

  const phaseOf = ({ metadata, spec: { claimRef } }: Volume): "Available" | "Bound" | "Released" => {
    if (claimRef === undefined) return "Available"
    const claim = claims.get(claimRef.namespace, claimRef.name ?? "")
    const isSame = claim !== undefined && (isBlank(claimRef.uid) || claimRef.uid === claim.metadata.uid)
    if (isSame && (claim.spec.volumeName === metadata.name || !isBlank(claimRef.uid))) return "Bound"
    // Reserved for a claim that does not exist yet.
    return isBlank(claimRef.uid) ? "Available" : "Released"
  }

  /** What the reclaim policy says. With `Retain` the volume stays as it is. */
  const reclaim = async (volume: Volume): Promise<void> => {
    switch (volume.spec.persistentVolumeReclaimPolicy) {
      case "Delete":
        return void (await cluster.delete(kinds.volumes, volume))
      case "Recycle":
        return void (await cluster.patch<Volume>(kinds.volumes, volume, "merge", {
          metadata: { resourceVersion: volume.metadata.resourceVersion },
          spec: { claimRef: null },
        }))
    }
  }

  const reconcile = async (volume: Volume): Promise<void> => {
    const { deletionTimestamp, finalizers = [], uid } = volume.metadata
    const phase = phaseOf(volume)
    if (volume.status?.phase !== phase) {
      const status = { phase, lastPhaseTransitionTime: cluster.now() }
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid }, status }, "status")
    }
    if (deletionTimestamp === undefined) {
      if (phase === "Released") await reclaim(volumes.byKey(keyOf(volume)) ?? volume)
    } else if (phase !== "Bound" && finalizers.includes(volumeProtection)) {
      const left = finalizers.filter((finalizer) => finalizer !== volumeProtection)
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid, finalizers: left } })
    }
  }

  const controller = objectController(surroundings, { name: "volume-reclaimer", kind: kinds.volumes }, reconcile)
  claims.onChange((changes) => {
    for (const { previous, current } of changes) {
      const name = (current ?? previous)?.spec.volumeName
      if (name !== undefined && name !== "") controller.enqueue(objectKey(undefined, name))
    }
  })
  return controller
}
