/** ServiceAccounts as users: who a module is to the API server. */

import type { ReviewedUser } from "../../kube/index.ts"

/** The ServiceAccount with whose rights a module runs. */
export interface ServiceAccountName {
  readonly namespace: string
  readonly name: string
}

/** The user that requests with a token of the ServiceAccount come from, with all groups that it has. */
export const userOfAccount = ({ namespace, name }: ServiceAccountName): ReviewedUser => ({
  username: `system:serviceaccount:${namespace}:${name}`,
  groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"],
})
