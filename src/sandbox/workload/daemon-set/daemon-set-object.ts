/** DaemonSets as their controller reads them, and the Pod of each node. */

import type {
  ApiObject,
  Condition,
  Node,
  Pod,
  PodSpec,
  PodTemplate,
  SelectorObject,
  Toleration,
} from "../../../kube/client/objects.ts"
import type { IntOrPercent } from "../int-or-percent.ts"
import { podOfTemplate } from "../pod-control.ts"
import { matchesNode, untoleratedTaint } from "../scheduler/node-match.ts"

export interface DaemonSetStatus {
  readonly currentNumberScheduled: number
  readonly numberMisscheduled: number
  readonly desiredNumberScheduled: number
  readonly numberReady: number
  readonly observedGeneration?: number
  readonly updatedNumberScheduled?: number
  readonly numberAvailable?: number
  readonly numberUnavailable?: number
  readonly collisionCount?: number
  readonly conditions?: ReadonlyArray<Condition>
}

export interface DaemonSet extends ApiObject {
  readonly spec: {
    readonly selector: SelectorObject
    readonly template: PodTemplate
    readonly minReadySeconds?: number
    readonly revisionHistoryLimit?: number
    readonly updateStrategy?: {
      readonly type?: string
      readonly rollingUpdate?: { readonly maxSurge?: IntOrPercent; readonly maxUnavailable?: IntOrPercent }
    }
  }
  readonly status?: DaemonSetStatus
}

export const revisionLabel = "controller-revision-hash"
const generationAnnotation = "deprecated.daemonset.template.generation"
const nodeNameField = "metadata.name"

/** The tolerations of every daemon Pod: it belongs to the node, whatever the node's state (AddOrUpdateDaemonPodTolerations). */
const ownTolerations = (spec: PodSpec): ReadonlyArray<Toleration> => [
  ...["not-ready", "unreachable"].map((key) => toleration(key, "NoExecute")),
  ...["disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"].map((key) => toleration(key, "NoSchedule")),
  ...(spec.hostNetwork === true ? [toleration("network-unavailable", "NoSchedule")] : []),
]

const toleration = (key: string, effect: string): Toleration => ({
  key: `node.kubernetes.io/${key}`,
  operator: "Exists",
  effect,
})

const tolerationsOf = (spec: PodSpec): ReadonlyArray<Toleration> => {
  const own = ownTolerations(spec)
  const given = (spec.tolerations ?? []).filter(
    ({ key, effect }) => !own.some((known) => known.key === key && known.effect === effect),
  )
  return [...given, ...own]
}

/** The Pod of one node: the scheduler binds it, by an affinity to the node's name. */
export const daemonPod = (set: DaemonSet, node: string, hash: string): Pod => {
  const { template } = set.spec
  const generation = set.metadata.annotations?.[generationAnnotation]
  const term = { matchFields: [{ key: nodeNameField, operator: "In", values: [node] }] }
  const required = template.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  // The terms are alternatives, so each gets the name of the node in place of its own fields.
  const terms = required === undefined ? [term] : required.nodeSelectorTerms.map((given) => ({ ...given, ...term }))
  return podOfTemplate(template, set, {
    labels: { [revisionLabel]: hash, ...(generation === undefined ? {} : { "pod-template-generation": generation }) },
    spec: {
      affinity: {
        ...template.spec.affinity,
        nodeAffinity: {
          ...template.spec.affinity?.nodeAffinity,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
        },
      },
      tolerations: tolerationsOf(template.spec),
    },
  })
}

/** The node that a daemon Pod runs on, or is intended for until it is bound. */
export const nodeOfDaemonPod = ({ spec }: Pod): string | undefined => {
  if ((spec.nodeName ?? "") !== "") return spec.nodeName
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  const field = required?.nodeSelectorTerms[0]?.matchFields?.find(({ key }) => key === nodeNameField)
  return field?.values?.[0]
}

/** Whether the node should get a Pod, and whether an existing one may stay (NodeShouldRunDaemonPod). */
export const belongsOn = (set: DaemonSet, node: Node): { readonly shouldRun: boolean; readonly mayStay: boolean } => {
  const { spec } = set.spec.template
  if ((spec.nodeName ?? "") !== "" && spec.nodeName !== node.metadata.name) return { shouldRun: false, mayStay: false }
  if (!matchesNode(spec, node)) return { shouldRun: false, mayStay: false }
  const tolerations = tolerationsOf(spec)
  return {
    shouldRun: untoleratedTaint(tolerations, node, ["NoSchedule", "NoExecute"]) === undefined,
    mayStay: untoleratedTaint(tolerations, node, ["NoExecute"]) === undefined,
  }
}
