// Made by reel crd types out of webapps.example.com.

import type { ObjectBase } from "kubereel/host"

export interface WebAppSpec {
  readonly image: string
  /** Default: 1 */
  readonly replicas?: number | undefined
  /** Default: 8080 */
  readonly port?: number | undefined
  /** Environment of its containers, kept in a ConfigMap of its own. */
  readonly settings?: { readonly [key: string]: string } | undefined
  /** A ConfigMap of the namespace with further environment. A change of it rolls the pods. */
  readonly sharedSettings?: string | undefined
}

export interface WebAppStatus {
  readonly observedGeneration?: number | undefined
  readonly readyReplicas?: number | undefined
  readonly conditions?:
    | ReadonlyArray<{
        readonly type: string
        readonly status: "True" | "False" | "Unknown"
        readonly reason: string
        readonly message: string
        readonly lastTransitionTime: string
        readonly observedGeneration?: number | undefined
      }>
    | undefined
}

/** WebApp runs an image behind a Service, with settings of its own and some that several share. */
export interface WebApp extends ObjectBase {
  readonly apiVersion: "example.com/v1"
  readonly kind: "WebApp"
  readonly spec: WebAppSpec
  readonly status?: WebAppStatus | undefined
}
