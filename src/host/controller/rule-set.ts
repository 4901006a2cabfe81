/**
 * Rights gathered from several sources into the rules of roles: one ClusterRole, and a Role for each namespace.
 *
 * Guaranteed: each right is there once; a right that another one includes (in the whole cluster, for all names) is left out; the order depends
 * on nothing but the rights, so that manifests that are printed again differ only where rights do.
 */

/** As in a Role or a ClusterRole. */
export interface PolicyRule {
  readonly apiGroups: ReadonlyArray<string>
  readonly resources: ReadonlyArray<string>
  /** Absent: objects of all names. */
  readonly resourceNames?: ReadonlyArray<string>
  readonly verbs: ReadonlyArray<string>
}

/** A rule of one group, and why it is there. */
export interface ReasonedRule extends PolicyRule {
  readonly apiGroups: readonly [string]
  /** Sorted, each once; empty if none was given. */
  readonly reasons: ReadonlyArray<string>
}

/** The rules of one namespace, for a Role; without namespace of the whole cluster, for a ClusterRole. */
export interface ScopedRules<Rule extends PolicyRule = PolicyRule> {
  readonly namespace: string | undefined
  readonly rules: ReadonlyArray<Rule>
}

/** The rights to one resource, or to objects of it by name. */
interface Right {
  readonly group: string
  readonly resource: string
  readonly names: ReadonlyArray<string>
  readonly verbs: Set<string>
  readonly reasons: Set<string>
}

/** Reading before writing, in the order in which people write them. */
const usualOrder = ["get", "list", "watch", "create", "update", "patch", "delete"]

export class RuleSet {
  /** By namespace, then by group, resource and names. */
  readonly #scopes = new Map<string | undefined, Map<string, Right>>()

  /** Adds the rights of a rule, in one namespace or in the whole cluster. */
  allow(namespace: string | undefined, rule: PolicyRule, reason?: string): void {
    const scope = this.#scopes.get(namespace) ?? new Map<string, Right>()
    this.#scopes.set(namespace, scope)
    const names = [...new Set(rule.resourceNames)].sort()
    for (const group of rule.apiGroups)
      for (const resource of rule.resources) {
        const key = keyOf(group, resource, names)
        const right = scope.get(key) ?? { group, resource, names, verbs: new Set(), reasons: new Set() }
        scope.set(key, right)
        for (const verb of rule.verbs) right.verbs.add(verb)
        if (reason !== undefined) right.reasons.add(reason)
      }
  }

  /** The whole cluster first, then the namespaces in order; none without rules. */
  scopes(): ReadonlyArray<ScopedRules<ReasonedRule>> {
    return [...this.#scopes]
      .sort(([left = ""], [right = ""]) => (left < right ? -1 : 1))
      .map(([namespace, rights]) => ({ namespace, rules: this.#rulesOf(namespace, [...rights.values()]) }))
      .filter(({ rules }) => rules.length > 0)
  }

  #rulesOf(namespace: string | undefined, rights: ReadonlyArray<Right>): ReadonlyArray<ReasonedRule> {
    const rules = new Map<string, ReasonedRule & { readonly resources: string[] }>()
    const inOrder = rights.toSorted((left, right) =>
      keyOf(left.group, left.resource, left.names) < keyOf(right.group, right.resource, right.names) ? -1 : 1,
    )
    for (const right of inOrder) {
      const verbs = ordered([...right.verbs].filter((verb) => !this.#isIncluded(namespace, right, verb)))
      if (verbs.length === 0) continue
      const reasons = [...right.reasons].sort()
      // Resources of one group with the same verbs are one rule.
      const key = JSON.stringify([right.group, right.names, verbs, reasons])
      const rule = rules.get(key)
      if (rule !== undefined) rule.resources.push(right.resource)
      else
        rules.set(key, {
          apiGroups: [right.group],
          resources: [right.resource],
          ...(right.names.length > 0 && { resourceNames: right.names }),
          verbs,
          reasons,
        })
    }
    return [...rules.values()]
  }

  /** Whether a right in the whole cluster, or one to objects of all names, has the verb already. */
  #isIncluded(namespace: string | undefined, { group, resource, names }: Right, verb: string): boolean {
    const has = (scope: string | undefined, those: ReadonlyArray<string>): boolean =>
      this.#scopes
        .get(scope)
        ?.get(keyOf(group, resource, those))
        ?.verbs.has(verb) === true
    if (names.length > 0 && has(namespace, [])) return true
    return namespace !== undefined && (has(undefined, names) || has(undefined, []))
  }
}

const keyOf = (group: string, resource: string, names: ReadonlyArray<string>): string =>
  [`${group}/${resource}`, ...names].join(" ")

const ordered = (verbs: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...usualOrder.filter((verb) => verbs.includes(verb)),
  ...verbs.filter((verb) => !usualOrder.includes(verb)).sort(),
]
