/** Claims and volumes as their two controllers see them. */

import type { ApiObject, SelectorObject, StringMap } from "../../../kube/client/objects.ts"

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
export interface ClaimReference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly uid?: string | undefined
}

/** Whether a volume is bound to that claim or reserved for it. */
export const isFor = ({ spec: { claimRef } }: Volume, { metadata }: Claim): boolean =>
  claimRef?.name === metadata.name &&
  claimRef.namespace === metadata.namespace &&
  (isBlank(claimRef.uid) || claimRef.uid === metadata.uid)

/** What the server stores for a member that is not set. */
export const isBlank = (text: string | undefined): boolean => text === undefined || text === ""
