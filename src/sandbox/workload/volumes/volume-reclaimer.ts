/**
 * The life of PersistentVolumes besides their binding: phases, what becomes of a volume whose claim is gone (`Retain`, `Delete`,
 * `Recycle`), and the protection finalizer of one that is being deleted, which goes when no claim is bound to it.
 */

import { keyOf, objectKey } from "../../../host/cache/object-cache.ts"
import { type Controller, enqueueSelf, KeyedController, type Surroundings } from "../../../host/controller.ts"
import { kinds } from "../../../kube/client/kinds.ts"
import { type Claim, isBlank, type Volume } from "./volume-objects.ts"

const protection = "kubernetes.io/pv-protection"

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

  const reconcile = async (key: string): Promise<void> => {
    const volume = volumes.byKey(key)
    if (volume === undefined) return
    const { deletionTimestamp, finalizers = [], uid } = volume.metadata
    const phase = phaseOf(volume)
    if (volume.status?.phase !== phase) {
      const status = { phase, lastPhaseTransitionTime: cluster.now() }
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid }, status }, "status")
    }
    if (deletionTimestamp === undefined) {
      if (phase === "Released") await reclaim(volumes.byKey(key) ?? volume)
    } else if (phase !== "Bound" && finalizers.includes(protection)) {
      const left = finalizers.filter((finalizer) => finalizer !== protection)
      await cluster.patch<Volume>(kinds.volumes, volume, "merge", { metadata: { uid, finalizers: left } })
    }
  }

  const controller = new KeyedController("volume-reclaimer", surroundings, reconcile, () =>
    Array.from(volumes.all(), keyOf),
  )
  volumes.onChange(enqueueSelf(controller))
  claims.onChange((changes) => {
    for (const { previous, current } of changes) {
      const name = (current ?? previous)?.spec.volumeName
      if (name !== undefined && name !== "") controller.enqueue(objectKey(undefined, name))
    }
  })
  return controller
}
