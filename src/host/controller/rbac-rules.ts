/** The permissions that controllers need, computed from what they watch and what they declare to write. */

import { kinds } from "../../kube/client/kinds.ts"
import type { Kind } from "../../kube/kind.ts"
import { type DefinedController, selectionsOf } from "./define-controller.ts"

/** As in a Role or a ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

/** The rules of one namespace, for a Role; without namespace of the whole cluster, for a ClusterRole. */
export interface ScopedRules {
  readonly namespace: string | undefined
  readonly rules: ReadonlyArray<PolicyRule>
}

export interface RulesOptions {
  /** Namespace of the Lease, if leader election is used. */
  readonly leaseNamespace?: string | undefined
}

const watching = ["get", "list", "watch"]
const changing = ["create", "update", "patch", "delete"]

/**
 * Rules with the fewest permissions for these controllers: reading what is watched; the declared writes; the finalizer; Events; the Lease. `kindOf` finds
 * the resource of a kind, for example by discovery; what it rejects with, this rejects with. Sorted, without repetitions, the whole cluster first.
 */
export const rulesOf = async (
  controllers: ReadonlyArray<DefinedController>,
  kindOf: (kind: string) => Promise<Kind>,
  { leaseNamespace }: RulesOptions = {},
): Promise<ReadonlyArray<ScopedRules>> => {
  /** Verbs by scope, then by group and resource. */
  const scopes = new Map<string | undefined, Map<string, { group: string; resource: string; verbs: Set<string> }>>()
  const allow = (kind: Kind, given: string | undefined, verbs: ReadonlyArray<string>, subresource = ""): void => {
    const namespace = kind.namespaced ? given : undefined
    const scope = scopes.get(namespace) ?? new Map()
    scopes.set(namespace, scope)
    const { group } = kind.gvk
    const resource = subresource === "" ? kind.plural : `${kind.plural}/${subresource}`
    const rule = scope.get(`${group}/${resource}`) ?? { group, resource, verbs: new Set<string>() }
    scope.set(`${group}/${resource}`, rule)
    for (const verb of verbs) rule.verbs.add(verb)
  }
  for (const controller of controllers) {
    for (const { kind, namespace } of selectionsOf(controller)) allow(await kindOf(kind), namespace, watching)
    for (const { kind: named, namespace, verbs } of controller.writes) {
      const [, kind = named, subresource] = /^(.*?\.[^/.]+)\/([a-z]+)$/.exec(named) ?? []
      const usual = subresource === undefined ? changing : ["update", "patch"]
      allow(await kindOf(kind), namespace, verbs ?? usual, subresource)
    }
    const subject = await kindOf(controller.for.kind)
    const { namespace } = controller.for
    if (controller.finalizer !== undefined) allow(subject, namespace, ["patch"])
    // Owner references with blockOwnerDeletion, where OwnerReferencesPermissionEnforcement is on.
    if (controller.owns.length > 0) allow(subject, namespace, ["update"], "finalizers")
    allow(kinds.events, namespace, ["create", "patch"])
  }
  if (leaseNamespace !== undefined) allow(kinds.leases, leaseNamespace, ["get", "create", "update"])
  return [...scopes]
    .sort(([left = ""], [right = ""]) => (left < right ? -1 : 1))
    .map(([namespace, scope]) => ({ namespace, rules: gathered([...scope.values()]) }))
}

/** Resources of one group with the same verbs are one rule. */
const gathered = (
  all: ReadonlyArray<{ readonly group: string; readonly resource: string; readonly verbs: ReadonlySet<string> }>,
): ReadonlyArray<PolicyRule> => {
  const rules = new Map<string, { apiGroups: string[]; resources: string[]; verbs: string[] }>()
  const order = [...watching, ...changing]
  const sorted = [...all].sort((left, right) =>
    `${left.group}/${left.resource}` < `${right.group}/${right.resource}` ? -1 : 1,
  )
  for (const { group, resource, verbs } of sorted) {
    const known = order.filter((verb) => verbs.has(verb))
    const list = [...known, ...[...verbs].filter((verb) => !known.includes(verb)).sort()]
    const key = JSON.stringify([group, list])
    const rule = rules.get(key) ?? { apiGroups: [group], resources: [], verbs: list }
    rules.set(key, rule)
    rule.resources.push(resource)
  }
  return [...rules.values()]
}
