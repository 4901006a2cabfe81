/**
 * Binds every PersistentVolumeClaim at once, whatever its storage class, to an empty PersistentVolume. Removes the
 * volume with its claim, and the protection finalizer of a claim that no Pod uses.
 */

import { keyOf } from "../../../host/cache/object-cache.ts"
import { type Controller, enqueueSelf, KeyedController, type Surroundings } from "../../../host/controller.ts"
import { AlreadyExistsError } from "../../../kube/client/api-errors.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import type { ApiObject, Pod, StringMap } from "../../../kube/client/objects.ts"
import { isFinished } from "../pod-facts.ts"

interface Claim extends ApiObject {
  readonly spec: {
    readonly volumeName?: string
    readonly accessModes?: ReadonlyArray<string>
    readonly storageClassName?: string
    readonly volumeMode?: string
    readonly resources?: { readonly requests?: StringMap }
  }
  readonly status?: { readonly phase?: string }
}

interface Volume extends ApiObject {
  readonly spec: {
    readonly claimRef?: Readonly<Record<string, string | undefined>>
    readonly [member: string]: unknown
  }
}

const protection = "kubernetes.io/pvc-protection"
const provisioner = "sandbox.kubereel.dev/provisioner"

export const volumeBinder = (surroundings: Surroundings): Controller => {
  const { cluster } = surroundings
  const claims = cluster.cache<Claim>(kinds.claims)
  const volumes = cluster.cache<Volume>(kinds.volumes)
  const pods = cluster.cache<Pod>(kinds.pods)

  const volumeOf = (claim: Claim, name: string): Volume => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name, annotations: { "pv.kubernetes.io/provisioned-by": provisioner } },
    spec: {
      capacity: { storage: claim.spec.resources?.requests?.storage ?? "1Gi" },
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Delete",
      storageClassName: claim.spec.storageClassName ?? "",
      volumeMode: claim.spec.volumeMode ?? "Filesystem",
      hostPath: { path: `/sandbox/${name}` },
      claimRef: {
        apiVersion: "v1",
        kind: "PersistentVolumeClaim",
        namespace: claim.metadata.namespace,
        name: claim.metadata.name,
        uid: claim.metadata.uid,
      },
    },
  })

  const bind = async (claim: Claim): Promise<void> => {
    const name = claim.spec.volumeName ?? `pvc-${claim.metadata.uid}`
    if (claim.spec.volumeName === undefined) {
      await ignoringExisting(() => cluster.create(kinds.volumes, volumeOf(claim, name)))
      const annotations = { "pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes" }
      await cluster.patch<Claim>(kinds.claims, claim, "merge", {
        metadata: { annotations },
        spec: { volumeName: name },
      })
      const volume = volumes.get(undefined, name)
      if (volume !== undefined)
        await cluster.patch(kinds.volumes, volume, "merge", { status: { phase: "Bound" } }, "status")
    }
    const status = {
      phase: "Bound",
      accessModes: claim.spec.accessModes ?? ["ReadWriteOnce"],
      capacity: { storage: claim.spec.resources?.requests?.storage ?? "1Gi" },
    }
    await cluster.patch<Claim>(kinds.claims, claim, "merge", { status }, "status")
  }

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

  const reconcile = async (key: string): Promise<void> => {
    const claim = claims.byKey(key)
    if (claim === undefined) return removeVolumes(key)
    if (claim.metadata.deletionTimestamp !== undefined) return release(claim)
    if (claim.status?.phase !== "Bound") await bind(claim)
  }

  const removeVolumes = async (key: string): Promise<void> => {
    for (const volume of volumes.all()) {
      const { claimRef } = volume.spec
      if (`${claimRef?.namespace}/${claimRef?.name}` !== key) continue
      if (volume.metadata.annotations?.["pv.kubernetes.io/provisioned-by"] !== provisioner) continue
      if (volume.metadata.finalizers?.length) {
        await cluster.patch(kinds.volumes, volume, "merge", { metadata: { finalizers: null } })
      }
      await cluster.delete(kinds.volumes, volume)
    }
  }

  const controller = new KeyedController("volume-binder", surroundings, reconcile, () => [...claims.all()].map(keyOf))
  claims.onChange(enqueueSelf(controller))
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

const ignoringExisting = async (action: () => Promise<unknown>): Promise<void> => {
  try {
    await action()
  } catch (error) {
    if (!(error instanceof AlreadyExistsError)) throw error
  }
}
