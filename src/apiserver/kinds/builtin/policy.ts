/** The kinds of policy, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { namespaced } = kindsOf("policy", "v1")

export const policyResources: ReadonlyArray<Resource> = [
  namespaced("PodDisruptionBudget", "poddisruptionbudgets", {
    shortNames: ["pdb"],
    subresources: ["status"],
    zeroValue: '"spec":{},"status":{"disruptionsAllowed":0,"currentHealthy":0,"desiredHealthy":0,"expectedPods":0}',
  }),
]
