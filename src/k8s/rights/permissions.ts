/**
 * The least rights with which a configuration can be recorded: exactly what the recorder asks the API server for.
 *
 * `list` and `watch` of what is recorded, in each of the namespaces where only those are recorded; `get` of owners that the recording
 * does not tell of; `get` of the one namespace whose UID says which cluster this is. Discovery needs nothing: every
 * account has `system:discovery`.
 */
import type { ApiResource } from "../../kube/discovery.ts"
import type { TrackedKind } from "../../recorder/configuration/tracked-kind.ts"

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
  /** Of the ClusterRole; empty: none is needed. */
  readonly cluster: ReadonlyArray<Rule>
  /** Of a Role in each of these namespaces, in their order. */
  readonly namespaces: ReadonlyArray<{ readonly namespace: string; readonly rules: ReadonlyArray<Rule> }>
}

/** A kind that is watched, with where its objects are. */
export interface WatchedResource {
  readonly kind: Pick<TrackedKind, "namespaces">
  readonly resource: ApiResource
  /** Kinds that its objects may belong to and that the recorder has to ask for. */
  readonly owners: ReadonlyArray<ApiResource>
}

export interface PermissionOptions {
  /** Reviews of tokens and of what their holders may do, for `--auth kubernetes`. */
  readonly reviews: boolean
}

const recorded = "recorded"
const owner = "owners of what is recorded; without it exports name them as unknown"
const identity = "which cluster this is; without it a cluster restored from a backup may go unnoticed"
const reviews = "who asks for an export, and whether they may"

export const permissionsFor = (watched: ReadonlyArray<WatchedResource>, options: PermissionOptions): Permissions => {
  const cluster = new RuleSet()
  const namespaces = new Map<string, RuleSet>()
  const within = (namespace: string): RuleSet => {
    const rules = namespaces.get(namespace) ?? new RuleSet()
    namespaces.set(namespace, rules)
    return rules
  }
  // Each namespace of a kind is watched by itself.
  const namespacesOf = ({ kind, resource }: WatchedResource): ReadonlyArray<string> | undefined =>
    resource.namespaced ? kind.namespaces : undefined
  const isClusterWide = watched.some((each) => namespacesOf(each) === undefined)
  for (const each of watched) {
    for (const rules of namespacesOf(each)?.map(within) ?? [cluster]) {
      rules.add(each.resource, ["list", "watch"], recorded)
      for (const kind of each.owners) if (kind.namespaced) rules.add(kind, ["get"], owner)
    }
    // Whoever installs a recorder for some namespaces may have nothing to grant beyond them.
    if (isClusterWide) for (const kind of each.owners) if (!kind.namespaced) cluster.add(kind, ["get"], owner)
  }
  const rules = [...cluster.rules()]
  if (isClusterWide) {
    rules.push({
      apiGroups: [""],
      resources: ["namespaces"],
      resourceNames: ["kube-system"],
      verbs: ["get"],
      reason: identity,
    })
  }
  if (options.reviews) {
    const verbs = ["create"]
    rules.push(
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs, reason: reviews },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs, reason: reviews },
    )
  }
  return {
    cluster: rules,
    namespaces: [...namespaces].map(([namespace, set]) => ({ namespace, rules: set.rules() })),
  }
}

/** Gathers resources that have group, verbs and reason in common. */
class RuleSet {
  readonly #resources = new Map<string, { readonly rule: Omit<Rule, "resources">; readonly names: Set<string> }>()

  add({ gvk, plural }: ApiResource, verbs: ReadonlyArray<string>, reason: string): void {
    const key = `${reason}/${gvk.group}`
    const entry = this.#resources.get(key) ?? { rule: { apiGroups: [gvk.group], verbs, reason }, names: new Set() }
    entry.names.add(plural)
    this.#resources.set(key, entry)
  }

  /** What is recorded first; groups in alphabetical order. */
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
