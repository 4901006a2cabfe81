/** The users that a server knows by itself. */

import type { RequestUser } from "../../apiserver/index.ts"
import { labelComplaints, subdomainComplaints } from "../../kube/offline.ts"
import { accountUsername } from "../rbac/subject.ts"

/** Its members may do everything, whatever the roles say. */
export const masters = "system:masters"
export const authenticated = "system:authenticated"
export const unauthenticated = "system:unauthenticated"

/** Whose requests come without authorization, from inside the process, or with the sandbox's own token. */
export const everybody: RequestUser = { username: "sandbox", uid: "sandbox", groups: [masters, authenticated] }

/** Who sends no credentials. */
export const anonymous: RequestUser = { username: "system:anonymous", groups: [unauthenticated] }

/** The groups of a ServiceAccount beside {@link authenticated}. */
export const accountGroups = (namespace: string): ReadonlyArray<string> => [
  "system:serviceaccounts",
  `system:serviceaccounts:${namespace}`,
]

/** The ServiceAccount that a username is of; `undefined` for any other user. */
export const accountOf = (username: string): { readonly namespace: string; readonly name: string } | undefined => {
  const [system, kind, namespace = "", name = "", ...rest] = username.split(":")
  if (system !== "system" || kind !== "serviceaccount" || rest.length > 0) return undefined
  const isValid = labelComplaints(namespace).length === 0 && subdomainComplaints(name).length === 0
  return isValid ? { namespace, name } : undefined
}

export { accountUsername }

/** The user with its group added, as every authenticated user has it. */
export const asAuthenticated = (user: RequestUser): RequestUser =>
  user.groups.includes(authenticated) || user.groups.includes(unauthenticated)
    ? user
    : { ...user, groups: [...user.groups, authenticated] }
