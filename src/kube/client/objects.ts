/**
 * Kubernetes objects as the workload controllers read and write them, typed only as far as these need; other members
 * pass through. Values are never changed in place: they are in the cache that all controllers share.
 */

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean | undefined
  readonly blockOwnerDeletion?: boolean | undefined
}

export type StringMap = Readonly<Record<string, string>>

export interface Metadata {
  readonly name: string
  readonly generateName?: string | undefined
  readonly namespace?: string | undefined
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
  readonly generation?: number | undefined
  readonly creationTimestamp?: string | undefined
  readonly deletionTimestamp?: string | undefined
  readonly deletionGracePeriodSeconds?: number | undefined
  readonly labels?: StringMap | undefined
  readonly annotations?: StringMap | undefined
  readonly ownerReferences?: ReadonlyArray<OwnerReference> | undefined
  readonly finalizers?: ReadonlyArray<string> | undefined
}

/** What every object has: the bound of a type that describes one, such as the interface of a custom kind. */
export interface ObjectBase {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
}

/** Any object, of whose other members nothing is known. */
export interface ApiObject extends ObjectBase {
  readonly [member: string]: unknown
}

/** `spec.selector` of the workload kinds. */
export interface SelectorObject {
  readonly matchLabels?: StringMap | undefined
  readonly matchExpressions?:
    | ReadonlyArray<{
        readonly key: string
        readonly operator: string
        readonly values?: ReadonlyArray<string> | undefined
      }>
    | undefined
}

/** A condition in a status; times in RFC 3339, whole seconds. */
export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string | undefined
  readonly message?: string | undefined
  readonly lastProbeTime?: string | null | undefined
  readonly lastUpdateTime?: string | undefined
  readonly lastTransitionTime?: string | null | undefined
  /** Of Pods: the generation that the condition is about. */
  readonly observedGeneration?: number | undefined
}

export interface Toleration {
  readonly key?: string | undefined
  readonly operator?: string | undefined
  readonly value?: string | undefined
  readonly effect?: string | undefined
  readonly tolerationSeconds?: number | undefined
}

export interface NodeSelectorTerm {
  readonly matchExpressions?: ReadonlyArray<NodeSelectorRequirement> | undefined
  readonly matchFields?: ReadonlyArray<NodeSelectorRequirement> | undefined
}

export interface NodeSelectorRequirement {
  readonly key: string
  readonly operator: string
  readonly values?: ReadonlyArray<string> | undefined
}

export interface Container {
  readonly name: string
  readonly image?: string | undefined
  readonly restartPolicy?: string | undefined
  readonly resources?:
    | { readonly requests?: StringMap | undefined; readonly limits?: StringMap | undefined }
    | undefined
  readonly env?: ReadonlyArray<Readonly<Record<string, unknown>>> | undefined
  readonly [member: string]: unknown
}

export interface PodSpec {
  readonly containers: ReadonlyArray<Container>
  readonly initContainers?: ReadonlyArray<Container> | undefined
  readonly volumes?: ReadonlyArray<Readonly<Record<string, unknown>> & { readonly name: string }> | undefined
  readonly nodeName?: string | undefined
  readonly nodeSelector?: StringMap | undefined
  readonly tolerations?: ReadonlyArray<Toleration> | undefined
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?:
        | { readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm> }
        | undefined
      readonly [member: string]: unknown
    }
    readonly [member: string]: unknown
  }
  readonly restartPolicy?: string | undefined
  readonly schedulerName?: string | undefined
  readonly hostNetwork?: boolean | undefined
  readonly overhead?: StringMap | undefined
  readonly schedulingGates?: ReadonlyArray<unknown> | undefined
  readonly [member: string]: unknown
}

export interface PodTemplate {
  readonly metadata?: Omit<Metadata, "name"> & { readonly name?: string | undefined }
  readonly spec: PodSpec
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string }
  readonly running?: { readonly startedAt: string }
  readonly terminated?: {
    readonly exitCode: number
    readonly reason: string
    readonly message?: string
    readonly startedAt: string
    readonly finishedAt: string
    readonly containerID?: string
  }
}

export interface ContainerStatus {
  readonly name: string
  readonly state: ContainerState
  readonly lastState: ContainerState
  readonly ready: boolean
  readonly restartCount: number
  readonly image: string
  readonly imageID: string
  readonly containerID?: string
  readonly started?: boolean
}

export interface PodStatus {
  readonly phase?: string
  readonly conditions?: ReadonlyArray<Condition>
  readonly message?: string
  readonly reason?: string
  readonly hostIP?: string
  readonly hostIPs?: ReadonlyArray<{ readonly ip: string }>
  readonly podIP?: string
  readonly podIPs?: ReadonlyArray<{ readonly ip: string }>
  readonly startTime?: string
  readonly initContainerStatuses?: ReadonlyArray<ContainerStatus>
  readonly containerStatuses?: ReadonlyArray<ContainerStatus>
  readonly qosClass?: string
  readonly observedGeneration?: number
}

export interface Pod extends ApiObject {
  readonly spec: PodSpec
  readonly status?: PodStatus
}

export interface Taint {
  readonly key: string
  readonly value?: string
  readonly effect: string
}

export interface Node extends ApiObject {
  readonly spec?: {
    readonly taints?: ReadonlyArray<Taint>
    readonly unschedulable?: boolean
    readonly [m: string]: unknown
  }
  readonly status?: {
    readonly allocatable?: StringMap
    readonly conditions?: ReadonlyArray<Condition>
    readonly [member: string]: unknown
  }
}

/** A numbered snapshot of a template, as StatefulSets and DaemonSets keep them. */
export interface ControllerRevision extends ApiObject {
  readonly data?: unknown
  readonly revision: number
}
