/** The kind of autoscaling, as Kubernetes 1.34.4 lists it: stored as v2, seen as v1 too. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"
import { storedAsNewAutoscaler } from "./views/autoscaler-view.ts"

const names = { shortNames: ["hpa"], categories: ["all"], subresources: ["status"] } as const
const reference = '"spec":{"scaleTargetRef":{"kind":"","name":""},"maxReplicas":0}'

export const autoscalingResources: ReadonlyArray<Resource> = [
  kindsOf("autoscaling", "v2").namespaced("HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    ...names,
    zeroValue: `${reference},"status":{"desiredReplicas":0,"currentMetrics":null}`,
  }),
  kindsOf("autoscaling", "v1").namespaced("HorizontalPodAutoscaler", "horizontalpodautoscalers", {
    ...names,
    storedAs: storedAsNewAutoscaler,
    zeroValue: `${reference},"status":{"currentReplicas":0,"desiredReplicas":0}`,
  }),
]
