/**
 * All roles and bindings of a cluster, and what they allow whom. Rules only add up; nothing forbids.
 *
 * A question walks the ClusterRoleBindings and the bindings of one namespace: 49 in a new cluster, in 9 µs if none applies, which
 * is little beside the request that is decided about, so there is no index by subject.
 */

import type { RequestUser } from "../../apiserver/index.ts"
import type { AccessAttributes, Authorizer, Decision } from "./access-attributes.ts"
import { type PolicyRule, ruleAllows } from "./policy-rule.ts"
import { describeSubject, isSubject, type Subject } from "./subject.ts"

interface RoleReference {
  /** `Role` or `ClusterRole`. */
  readonly kind: string
  readonly name: string
}

export interface Binding {
  readonly name: string
  readonly role: RoleReference
  readonly subjects: ReadonlyArray<Subject>
}

/** A rule that a user has, by way of a binding; or a binding of the user's whose role does not exist. */
type Visit = (rule: PolicyRule | undefined, source: Source) => boolean

interface Source {
  readonly binding: Binding
  readonly subject: Subject
  /** Of the binding; empty for a ClusterRoleBinding. */
  readonly namespace: string
}

/** What a user may do in a namespace. */
interface RuleList {
  readonly rules: ReadonlyArray<PolicyRule>
  /** Roles that are bound but do not exist, in the server's words; empty if there are none. */
  readonly problem: string
}

export class RuleBook implements Authorizer {
  /** By namespace, empty for the cluster, and name. */
  readonly #roles = new Map<string, Map<string, ReadonlyArray<PolicyRule>>>()
  readonly #bindings = new Map<string, Map<string, Binding>>()

  /** Adds or replaces a Role, or a ClusterRole if the namespace is empty. `undefined` removes it. */
  setRole(namespace: string, name: string, rules: ReadonlyArray<PolicyRule> | undefined): void {
    setIn(this.#roles, namespace, name, rules)
  }

  /** Adds or replaces a RoleBinding, or a ClusterRoleBinding if the namespace is empty. `undefined` removes it. */
  setBinding(namespace: string, name: string, binding: Binding | undefined): void {
    setIn(this.#bindings, namespace, name, binding)
  }

  clear(): void {
    this.#roles.clear()
    this.#bindings.clear()
  }

  /** The rules of the role that a binding in a namespace refers to; `undefined` if it does not exist. */
  roleRules({ kind, name }: RoleReference, bindingNamespace: string): ReadonlyArray<PolicyRule> | undefined {
    return this.#roles.get(kind === "ClusterRole" ? "" : bindingNamespace)?.get(name)
  }

  authorize(user: RequestUser, attributes: AccessAttributes): Decision {
    const missing: string[] = []
    let reason = ""
    const namespace = attributes.type === "resource" ? attributes.namespace : ""
    this.#visit(user, namespace, (rule, source) => {
      if (rule === undefined) missing.push(describeMissing(source.binding.role))
      else if (ruleAllows(rule, attributes)) reason = `RBAC: allowed by ${describeSource(source)}`
      return reason === ""
    })
    if (reason !== "") return { isAllowed: true, reason }
    return { isAllowed: false, reason: missing.length === 0 ? "" : `RBAC: ${aggregated(missing)}` }
  }

  /** Empty namespace: only what the user may do in all of them. */
  rulesFor(user: RequestUser, namespace: string): RuleList {
    const rules: PolicyRule[] = []
    const missing: string[] = []
    this.#visit(user, namespace, (rule, { binding }) => {
      if (rule === undefined) missing.push(describeMissing(binding.role))
      else rules.push(rule)
      return true
    })
    return { rules, problem: missing.length === 0 ? "" : aggregated(missing) }
  }

  /** Until the visitor returns false. */
  #visit(user: RequestUser, namespace: string, visit: Visit): void {
    if (this.#visitBindings(user, "", visit) && namespace !== "") this.#visitBindings(user, namespace, visit)
  }

  #visitBindings(user: RequestUser, namespace: string, visit: Visit): boolean {
    for (const binding of this.#bindings.get(namespace)?.values() ?? []) {
      const subject = binding.subjects.find((candidate) => isSubject(user, candidate, namespace))
      if (subject === undefined) continue
      const source = { binding, subject, namespace }
      const rules = this.roleRules(binding.role, namespace)
      if (rules === undefined && !visit(undefined, source)) return false
      for (const rule of rules ?? []) if (!visit(rule, source)) return false
    }
    return true
  }
}

const setIn = <Value>(
  all: Map<string, Map<string, Value>>,
  namespace: string,
  name: string,
  value: Value | undefined,
): void => {
  const inside = all.get(namespace) ?? new Map<string, Value>()
  if (value === undefined) inside.delete(name)
  else inside.set(name, value)
  if (inside.size === 0) all.delete(namespace)
  else all.set(namespace, inside)
}

const describeSource = ({ binding, subject, namespace }: Source): string => {
  const { role } = binding
  const name = namespace === "" ? binding.name : `${binding.name}/${namespace}`
  return (
    `${namespace === "" ? "ClusterRoleBinding" : "RoleBinding"} ${JSON.stringify(name)} of ` +
    `${role.kind} ${JSON.stringify(role.name)} to ${describeSubject(subject, namespace)}`
  )
}

const describeMissing = ({ kind, name }: RoleReference): string =>
  `${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`

/** Several errors as Go's aggregate shows them: each once. */
const aggregated = (messages: ReadonlyArray<string>): string => {
  const different = [...new Set(messages)]
  return different.length === 1 ? (different[0] ?? "") : `[${different.join(", ")}]`
}
