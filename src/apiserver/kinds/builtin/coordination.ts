/** The kinds of coordination.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { namespaced } = kindsOf("coordination.k8s.io", "v1")

export const coordinationResources: ReadonlyArray<Resource> = [
  namespaced("Lease", "leases", { zeroValue: '"spec":{}' }),
]
