/** The subjects of bindings: users, groups and ServiceAccounts. */

import type { RequestUser } from "../../apiserver/index.ts"
import { items, text } from "../rules/fields.ts"
import type { Fields } from "../rules/kind-rules.ts"

export interface Subject {
  /** `User`, `Group` or `ServiceAccount`; a subject of another kind matches no user. */
  readonly kind: string
  readonly name: string
  /** Of a ServiceAccount; empty for the binding's own. */
  readonly namespace: string
}

export const subjectsOf = (binding: Fields): ReadonlyArray<Subject> =>
  items(binding, "subjects").map((subject) => ({
    kind: text(subject, "kind"),
    name: text(subject, "name"),
    namespace: text(subject, "namespace"),
  }))

/** `bindingNamespace`: empty for a ClusterRoleBinding. */
export const isSubject = (user: RequestUser, subject: Subject, bindingNamespace: string): boolean => {
  switch (subject.kind) {
    case "User":
      return user.username === subject.name
    case "Group":
      return user.groups.includes(subject.name)
    case "ServiceAccount": {
      const namespace = subject.namespace === "" ? bindingNamespace : subject.namespace
      return namespace !== "" && user.username === accountUsername(namespace, subject.name)
    }
    default:
      return false
  }
}

/** The username of a ServiceAccount. */
export const accountUsername = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`

/** As the reasons of decisions name it. */
export const describeSubject = ({ kind, name, namespace }: Subject, bindingNamespace: string): string => {
  if (kind !== "ServiceAccount") return `${kind} ${JSON.stringify(name)}`
  return `${kind} ${JSON.stringify(`${name}/${namespace === "" ? bindingNamespace : namespace}`)}`
}
