/**
 * The roles and bindings that every API server creates at its start if they are missing: those of Kubernetes 1.34.4,
 * from default-policy.json. There a rule is `VERBS|GROUPS|RESOURCES` or `VERBS|GROUPS|RESOURCES|NAMES`, with an empty
 * group for the core one, or `VERBS|PATHS`, and a binding of a ClusterRole has its role's name.
 */
import { keyOf } from "../../apiserver/index.ts"
import { ruleObject } from "../rbac/policy-rule.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { timestamp } from "../store/stamps.ts"
import { trackCreation } from "../writes/field-owners.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import policy from "./default-policy.json" with { type: "json" }
import { aggregatedRules } from "./role-aggregation.ts"

const group = "rbac.authorization.k8s.io"

interface ClusterRoleEntry {
  readonly isAggregated?: boolean
  /** The aggregated role that takes over the rules. */
  readonly aggregateTo?: string
  /** Absent for an aggregated role. */
  readonly rules?: ReadonlyArray<string>
}

interface RoleBindingEntry {
  readonly role: string
  readonly subjects: ReadonlyArray<string>
}

type Entries<Entry> = Readonly<Record<string, Entry>>

/** Creates the missing ones, those of a namespace only if it exists. */
export const putDefaultPolicy = (around: WriteSurroundings): void => {
  const clusterRoles: ReadonlyArray<readonly [string, ClusterRoleEntry]> = Object.entries(policy.clusterRoles)
  // An aggregated role may be part of another one, so the rules are gathered from the bottom up.
  const rules = new Map<string, ReadonlyArray<Fields>>()
  for (const name of ["view", "edit", "admin"]) rules.set(name, rulesIn(name, clusterRoles, rules))
  for (const [name, entry] of clusterRoles)
    create(around, "ClusterRole", "", name, clusterRole(name, entry, rules.get(name)), entry.aggregateTo)
  for (const [name, subjects] of Object.entries(policy.clusterRoleBindings))
    create(around, "ClusterRoleBinding", "", name, binding("ClusterRole", name, subjects))
  for (const [namespace, roles] of Object.entries<Entries<ReadonlyArray<string>>>(policy.roles))
    for (const [name, texts] of Object.entries(roles))
      create(around, "Role", namespace, name, { rules: texts.map(readRule) })
  for (const [namespace, bindings] of Object.entries<Entries<RoleBindingEntry>>(policy.roleBindings))
    for (const [name, { role, subjects }] of Object.entries(bindings))
      create(around, "RoleBinding", namespace, name, binding("Role", role, subjects))
}

const rulesIn = (
  name: string,
  roles: ReadonlyArray<readonly [string, ClusterRoleEntry]>,
  known: ReadonlyMap<string, ReadonlyArray<Fields>>,
): ReadonlyArray<Fields> =>
  aggregatedRules(
    name,
    [{ matchLabels: aggregationLabel(name) }],
    roles.map(([role, { aggregateTo, rules }]) => ({
      name: role,
      labels: aggregateTo === undefined ? undefined : aggregationLabel(aggregateTo),
      rules: rules?.map(readRule) ?? known.get(role) ?? [],
    })),
  )

const aggregationLabel = (name: string): Readonly<Record<string, string>> => ({
  [`${group}/aggregate-to-${name}`]: "true",
})

const clusterRole = (name: string, entry: ClusterRoleEntry, aggregated: ReadonlyArray<Fields> | undefined): Fields =>
  entry.isAggregated === true
    ? { aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregationLabel(name) }] }, rules: aggregated }
    : { rules: entry.rules?.map(readRule) ?? [] }

const readRule = (line: string): Fields => {
  const [verbs = [], ...rest] = line.split("|").map((part) => part.split(","))
  const [first = [], second, resourceNames = []] = rest
  return ruleObject(
    second === undefined
      ? { verbs, nonResourceURLs: first, apiGroups: [], resources: [], resourceNames: [] }
      : { verbs, apiGroups: first, resources: second, resourceNames, nonResourceURLs: [] },
  )
}

/** Subjects: `User NAME`, `Group NAME` or `ServiceAccount NAMESPACE/NAME`. */
const binding = (kind: "Role" | "ClusterRole", role: string, subjects: ReadonlyArray<string>): Fields => ({
  ...(subjects.length > 0 && { subjects: subjects.map(readSubject) }),
  roleRef: { apiGroup: group, kind, name: role },
})

const readSubject = (line: string): Fields => {
  const [kind, name = ""] = line.split(" ")
  if (kind !== "ServiceAccount") return { kind, apiGroup: group, name }
  const [namespace, account] = name.split("/")
  return { kind, name: account, namespace }
}

const create = (
  around: WriteSurroundings,
  kind: string,
  namespace: string,
  name: string,
  members: Fields,
  aggregateTo?: string,
): void => {
  const { store, clock, random, kindOf } = around
  const collection = store.collection(`${group}/v1.${kind}`)
  if (collection.live.has(keyOf(namespace, name))) return
  if (namespace !== "" && !store.collection("v1.Namespace").live.has(namespace)) return
  const object: MutableObject = {
    metadata: {
      name,
      ...(namespace !== "" && { namespace }),
      labels: {
        "kubernetes.io/bootstrapping": "rbac-defaults",
        ...(aggregateTo !== undefined && aggregationLabel(aggregateTo)),
      },
      annotations: { "rbac.authorization.kubernetes.io/autoupdate": "true" },
    },
    ...members,
  }
  object.metadata.managedFields = trackCreation(around, kindOf(collection.resource), object, "apiserver")
  Object.assign(object.metadata, { uid: random.uid(), creationTimestamp: timestamp(clock) })
  store.write(collection, object)
}
