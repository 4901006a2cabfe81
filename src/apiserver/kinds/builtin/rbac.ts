/** The kinds of rbac.authorization.k8s.io, as Kubernetes 1.34.4 lists them. */

import type { Resource } from "../resources.ts"
import { kindsOf } from "./kinds-of.ts"

const { namespaced, clusterScoped } = kindsOf("rbac.authorization.k8s.io", "v1")

export const rbacResources: ReadonlyArray<Resource> = [
  clusterScoped("ClusterRoleBinding", "clusterrolebindings", {
    zeroValue: '"roleRef":{"apiGroup":"","kind":"","name":""}',
  }),
  clusterScoped("ClusterRole", "clusterroles", { zeroValue: '"rules":null' }),
  namespaced("RoleBinding", "rolebindings", { zeroValue: '"roleRef":{"apiGroup":"","kind":"","name":""}' }),
  namespaced("Role", "roles", { zeroValue: '"rules":null' }),
]
