/** Which existing volume a claim is bound to (pkg/volume/util, FindMatchingVolume). */

import { selectorMatches } from "../../../kube/label-selector.ts"
import { quantityOf } from "../../../kube/quantity.ts"
import { type Claim, isBlank, isFor, type Volume } from "./volume-objects.ts"

/**
 * The volume that the claim names or that is reserved for it, else the smallest free one that is large enough and of its class, mode and
 * access; of several the first by name. `undefined` if there is none yet.
 */
export const matchingVolume = (claim: Claim, volumes: Iterable<Volume>): Volume | undefined => {
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
