/** The kinds of scheduling.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { clusterScoped } = kindsOf("scheduling.k8s.io", "v1")

export const schedulingResources: ReadonlyArray<Resource> = [
  clusterScoped("PriorityClass", "priorityclasses", { shortNames: ["pc"], zeroValue: '"value":0' }),
]
