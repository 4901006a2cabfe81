/**
 * Users cannot give away rights that they do not have: a role may hold only rules, and a binding only refer to a role,
 * whose every right the writer has too. The verbs `escalate` on roles and `bind` on the role that is bound lift that.
 */

import { objectNotFound, type RequestUser, type Resource } from "../../apiserver/index.ts"
import { type Authorizer, onResource } from "../rbac/access-attributes.ts"
import { noRights, type PolicyRule, rulesOf } from "../rbac/policy-rule.ts"
import type { RuleBook } from "../rbac/rule-book.ts"
import { describeRights, missingRights, quotedList } from "../rbac/rule-coverage.ts"
import { child, isSame, list, text } from "../rules/fields.ts"
import type { MutableObject } from "../rules/kind-rules.ts"
import { refuse } from "../store/refusal.ts"
import { forbiddenObject } from "./forbidden.ts"
import { masters } from "./users.ts"

/** A write of a role or binding. */
interface Grant {
  readonly user: RequestUser
  readonly resource: Resource
  /** The name in the path of the request; empty for a creation by POST. */
  readonly pathName: string
  /** Empty for the cluster. */
  readonly namespace: string
  readonly object: MutableObject
  /** What it replaces; absent for something new. */
  readonly before?: MutableObject | undefined
}

const group = "rbac.authorization.k8s.io"

export const isGrant = ({ gvk }: Resource): boolean => gvk.group === group

/** Throws Refusal: 403, or a 404 for a role that does not exist. */
export const confirmGrant = (authorizer: Authorizer, book: RuleBook, grant: Grant): void => {
  const { user, resource, before, object } = grant
  if (user.groups.includes(masters)) return
  if (before !== undefined && isForGarbageCollection(before, object)) return
  if (resource.plural.endsWith("bindings")) confirmBinding(authorizer, book, grant)
  else confirmRole(authorizer, book, grant)
}

const confirmRole = (authorizer: Authorizer, book: RuleBook, grant: Grant): void => {
  const { user, resource, pathName, namespace, object, before } = grant
  const escalating = onResource("escalate", resource.plural, { group, namespace, name: pathName })
  if (authorizer.authorize(user, escalating).isAllowed) return
  confirmHeld(book, grant, rulesOf(object))
  if (!isAggregated(object) && !isAggregated(before)) return
  if (missingRights(book.rulesFor(user, namespace).rules, fullAuthority).length > 0)
    refuseGrant(grant, "must have cluster-admin privileges to use the aggregationRule")
}

const confirmBinding = (authorizer: Authorizer, book: RuleBook, grant: Grant): void => {
  const { user, resource, namespace, object } = grant
  const reference = child(object, "roleRef")
  const role = { kind: text(reference, "kind"), name: text(reference, "name") }
  const plural = boundPlurals[role.kind]
  const about = { group: text(reference, "apiGroup"), namespace, name: role.name }
  if (plural !== undefined && authorizer.authorize(user, onResource("bind", plural, about)).isAllowed) return
  const rules = book.roleRules(role, namespace)
  confirmHeld(book, grant, rules ?? refuse(objectNotFound(resource, role.name)))
}

const boundPlurals: Readonly<Record<string, string>> = { ClusterRole: "clusterroles", Role: "roles" }

const confirmHeld = (book: RuleBook, grant: Grant, rules: ReadonlyArray<PolicyRule>): void => {
  const { user, namespace } = grant
  const owned = book.rulesFor(user, namespace)
  const missing = missingRights(owned.rules, rules)
  if (missing.length === 0) return
  const who = `user ${JSON.stringify(user.username)} (groups=${quotedList(user.groups)})`
  const unresolved = owned.problem === "" ? "" : `; resolution errors: [${owned.problem}]`
  const what = "is attempting to grant RBAC permissions not currently held:"
  refuseGrant(grant, `${who} ${what}\n${describeRights(missing)}${unresolved}`)
}

const refuseGrant = ({ resource, object }: Grant, problem: string): never => {
  const name = text(object.metadata, "name")
  return refuse(forbiddenObject({ group, resource: resource.plural, name }, problem))
}

/** A user who may update the object may change its finalizers and owners, so that it can be deleted. */
const isForGarbageCollection = (before: MutableObject, after: MutableObject): boolean => {
  const { ownerReferences, finalizers, managedFields } = before.metadata
  const metadata = { ...after.metadata, ownerReferences, finalizers, managedFields }
  return isSame(before, { ...after, metadata })
}

const isAggregated = (role: MutableObject | undefined): boolean =>
  list(child(role, "aggregationRule"), "clusterRoleSelectors").length > 0

const everything = ["*"]
const fullAuthority: ReadonlyArray<PolicyRule> = [
  { ...noRights, verbs: everything, apiGroups: everything, resources: everything },
  { ...noRights, verbs: everything, nonResourceURLs: everything },
]
