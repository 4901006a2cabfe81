// Made by reel crd types out of simplepods.slinky.dev.

import type { ObjectBase } from "kubereel/host"

export interface SimplePodSpec {
  /** The image of the pod's only container. */
  readonly image: string
  /** Arguments of its entry point. */
  readonly args?: ReadonlyArray<string> | undefined
}

export interface SimplePodStatus {
  /** The pod's phase. */
  readonly phase?: string | undefined
  readonly conditions?: ReadonlyArray<{
    readonly type: string
    readonly status: "True" | "False" | "Unknown"
    readonly reason?: string | undefined
    readonly message?: string | undefined
    readonly observedGeneration?: number | undefined
    readonly lastTransitionTime?: string | undefined
  }> | undefined
}

/** SimplePod keeps one pod that runs one image. */
export interface SimplePod extends ObjectBase {
  readonly apiVersion: "slinky.dev/v1"
  readonly kind: "SimplePod"
  readonly spec: SimplePodSpec
  readonly status?: SimplePodStatus | undefined
}
