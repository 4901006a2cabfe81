/** The missing RBAC rule when a list or watch is forbidden, ready to be pasted into a Role; for one kind, or for several together. */

/** Verbs of a recorder. */
const watching: ReadonlyArray<string> = ["get", "list", "watch"]

const discoveryHint = "bind the user to the ClusterRole system:discovery"

const clusterRole = "a ClusterRole of this user"

/**
 * `path` is the path of a collection: `/api/v1/pods`, `/apis/apps/v1/namespaces/shop/deployments`. For any other path, as before discovery,
 * the hint names the permission that discovery needs.
 */
export const permissionHint = (path: string, verbs: ReadonlyArray<string> = watching): string => {
  const match = /^(?:\/api|\/apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)$/.exec(path)
  if (match === null) return discoveryHint
  const [, group = "", namespace, resource = ""] = match
  const role = namespace === undefined ? clusterRole : `a Role of this user in ${namespace}`
  return `add to ${role}: ${ruleText(group, [resource], JSON.stringify(verbs).replaceAll(",", ", "))}`
}

const ruleText = (group: string, resources: ReadonlyArray<string>, verbs: string): string =>
  `{apiGroups: ["${group}"], resources: [${resources.map((resource) => `"${resource}"`).join(", ")}], verbs: ${verbs}}`

/** Hints of {@link permissionHint} within a longer text. */
const hint =
  /add to (a ClusterRole of this user|a Role of this user in [^\s:]+): \{apiGroups: \["([^"]*)"\], resources: \["([^"]+)"\], verbs: (\[[^\]]*\])\}/g

/** Rules that one message contains at most; more would not be read. */
const mostRules = 4

/**
 * The hints in several texts as one: a rule for each API group and role, as RBAC can express it. `undefined` if there are none.
 */
export const mergedHints = (texts: Iterable<string>): string | undefined => {
  const roles = new Map<string, Map<string, Set<string>>>()
  let lacksDiscovery = false
  for (const text of texts) {
    lacksDiscovery ||= text.includes(discoveryHint)
    for (const [, role = "", group = "", resource = "", verbs = ""] of text.matchAll(hint)) {
      const rules = roles.get(role) ?? new Map<string, Set<string>>()
      roles.set(role, rules)
      const key = JSON.stringify([group, verbs])
      rules.set(key, (rules.get(key) ?? new Set()).add(resource))
    }
  }
  const parts = lacksDiscovery ? [discoveryHint] : []
  let left = mostRules
  for (const [role, rules] of roles) {
    const shown = [...rules].slice(0, left).map(([key, resources]) => {
      const [group, verbs]: [string, string] = JSON.parse(key)
      return ruleText(group, [...resources], verbs)
    })
    left -= shown.length
    if (shown.length > 0) parts.push(`add to ${role}: ${shown.join(", ")}`)
  }
  const more = [...roles.values()].reduce((sum, rules) => sum + rules.size, 0) - (mostRules - left)
  if (more > 0) parts.push(`and ${more} more ${more === 1 ? "rule" : "rules"}`)
  return parts.length === 0 ? undefined : parts.join("; ")
}
