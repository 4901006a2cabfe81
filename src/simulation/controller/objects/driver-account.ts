/**
 * Where drivers run and as whom: a namespace, a ServiceAccount in it, and its binding to the role of drivers. They are shared by all simulations of the
 * namespace, and stay when one of them is deleted (W-58).
 */
import type { ApiObject } from "../../../kube/client/objects.ts"
import { managedBy } from "./belonging.ts"
import { driverAccount } from "./driver-job.ts"

/** Aggregated: the administrator adds the kinds of the traces. The controller may bind this role and no other. */
export const driverRole = "kubereel-simulation-driver"

/** In the order of their creation. */
export const driverAccountObjects = (namespace: string): ReadonlyArray<ApiObject> => [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels: managedBy } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: driverAccount, namespace, labels: managedBy } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: `${driverAccount}-${namespace}`, labels: managedBy },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: driverRole },
    subjects: [{ kind: "ServiceAccount", name: driverAccount, namespace }],
  },
]
