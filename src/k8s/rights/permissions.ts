/**
 * The minimum permissions for recording a configuration: exactly those for the requests that the recorder makes.
 *
 * `list` and `watch` for the recorded kinds, in each namespace if only some are recorded; `get` for owners that are not in the
 * recording; `get` for the namespace whose UID identifies the cluster; `list` for APIServices if kinds are recorded that Kubernetes does not define. Discovery needs no rule: every account has
 * `system:discovery`.
 */
import type { ApiResource } from "../../kube/index.ts"
import { formatGvk } from "../../kube/offline.ts"
import { mayBeAggregated, type TrackedKind } from "../../recorder/index.ts"

/** A rule of a Role or ClusterRole. */
export interface Rule {
  readonly apiGroups: readonly [string]
  /** Sorted. */
  readonly resources: ReadonlyArray<string>
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
  /** What stops working without it. */
  readonly reason: string
}

export interface Permissions {
  /** Rules of the ClusterRole; empty: no ClusterRole is needed. */
  readonly cluster: ReadonlyArray<Rule>
  /** Rules of a Role in each of these namespaces, in order. */
  readonly namespaces: ReadonlyArray<{ readonly namespace: string; readonly rules: ReadonlyArray<Rule> }>
}

/** A watched kind with its resource. */
export interface WatchedResource {
  readonly kind: Pick<TrackedKind, "namespaces">
  readonly resource: ApiResource
  /** Owner kinds of its objects that the recorder has to look up. */
  readonly owners: ReadonlyArray<ApiResource>
}

interface PermissionOptions {
  /** Whether the recording is archived, for which the recorder must know the cluster. */
  readonly isArchived: boolean
  /** Every kind is recorded, in these namespaces; `undefined` as its value: in all. Default: only those that are watched by name. */
  readonly every?: { readonly namespaces: ReadonlyArray<string> | undefined }
  /** Whether the recorder reviews tokens and access, for `--auth kubernetes`. */
  readonly reviews: boolean
}

const recorded = "recorded"
/** RBAC has no exceptions, so Secrets are included. */
const everyKind: Rule = {
  apiGroups: ["*"],
  resources: ["*"],
  verbs: ["get", "list", "watch"],
  reason:
    "every kind is recorded, and get is for owners; RBAC cannot except Secrets, which are only read if the recorder may record them",
}
const owner = "owners of recorded objects; without it, exports report them as unknown"
/** Why whatever watches reads the namespace kube-system. */
export const clusterIdentity = "identity of the cluster; without it, a cluster restored from a backup may go unnoticed"
const streamIdentity = "identity of the cluster; without it, nothing is archived"
const aggregated = "which APIs other servers provide; without it, a first list of them may take a minute longer"
const reviews = "authentication and authorisation of clients"

export const permissionsFor = (watched: ReadonlyArray<WatchedResource>, options: PermissionOptions): Permissions => {
  const cluster = new RuleSet()
  const namespaces = new Map<string, RuleSet>()
  const within = (namespace: string): RuleSet => {
    const rules = namespaces.get(namespace) ?? new RuleSet()
    namespaces.set(namespace, rules)
    return rules
  }
  // Each namespace of a kind is watched separately.
  const namespacesOf = ({ kind, resource }: WatchedResource): ReadonlyArray<string> | undefined =>
    resource.namespaced ? kind.namespaces : undefined
  const isClusterWide = watched.some((each) => namespacesOf(each) === undefined)
  for (const each of watched) {
    for (const rules of namespacesOf(each)?.map(within) ?? [cluster]) {
      rules.add(each.resource, ["list", "watch"], recorded)
      for (const kind of each.owners) if (kind.namespaced) rules.add(kind, ["get"], owner)
    }
    // A user who installs a recorder for some namespaces may not be able to grant cluster-wide permissions.
    if (isClusterWide) for (const kind of each.owners) if (!kind.namespaced) cluster.add(kind, ["get"], owner)
  }
  const isEveryWhere = options.every !== undefined && options.every.namespaces === undefined
  // The one rule contains all others.
  const rules = isEveryWhere ? [everyKind] : [...cluster.rules()]
  if (isClusterWide && !isEveryWhere) {
    // As the recorder, which asks if it watches a kind that Kubernetes does not define.
    if (watched.some(({ resource }) => mayBeAggregated(formatGvk(resource.gvk))))
      rules.push({
        apiGroups: ["apiregistration.k8s.io"],
        resources: ["apiservices"],
        verbs: ["list"],
        reason: aggregated,
      })
  }
  if ((isClusterWide || options.isArchived) && !isEveryWhere)
    rules.push({
      apiGroups: [""],
      resources: ["namespaces"],
      resourceNames: ["kube-system"],
      verbs: ["get"],
      reason: options.isArchived ? streamIdentity : clusterIdentity,
    })
  if (options.reviews) {
    const verbs = ["create"]
    rules.push(
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs, reason: reviews },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs, reason: reviews },
    )
  }
  const ofNamespaces = new Map([...namespaces].map(([namespace, set]) => [namespace, set.rules()]))
  for (const namespace of options.every?.namespaces ?? []) ofNamespaces.set(namespace, [everyKind])
  return {
    cluster: rules,
    namespaces: isEveryWhere ? [] : [...ofNamespaces].map(([namespace, own]) => ({ namespace, rules: own })),
  }
}

/** Groups resources with the same group, verbs and reason into one rule. */
class RuleSet {
  readonly #resources = new Map<string, { readonly rule: Omit<Rule, "resources">; readonly names: Set<string> }>()

  add({ gvk, plural }: ApiResource, verbs: ReadonlyArray<string>, reason: string): void {
    const key = `${reason}/${gvk.group}`
    const entry = this.#resources.get(key) ?? { rule: { apiGroups: [gvk.group], verbs, reason }, names: new Set() }
    entry.names.add(plural)
    this.#resources.set(key, entry)
  }

  /** Recorded kinds first; groups in alphabetical order. */
  rules(): ReadonlyArray<Rule> {
    return [...this.#resources.values()]
      .map(({ rule: { apiGroups, ...rest }, names }): Rule => ({ apiGroups, resources: [...names].sort(), ...rest }))
      .sort(
        (left, right) =>
          Number(left.reason !== recorded) - Number(right.reason !== recorded) ||
          (left.apiGroups[0] < right.apiGroups[0] ? -1 : 1),
      )
  }
}
