/** One rule of a Role or ClusterRole, and the requests that it allows. */

import { items, texts } from "../rules/fields.ts"
import type { Fields } from "../rules/kind-rules.ts"
import type { AccessAttributes } from "./access-attributes.ts"

/** Empty lists are those that the rule does not have. */
export interface PolicyRule {
  readonly verbs: ReadonlyArray<string>
  readonly apiGroups: ReadonlyArray<string>
  /** `pods`, `pods/log`, `*`, or a subresource of every resource: a star, a slash and its name. */
  readonly resources: ReadonlyArray<string>
  /** Empty: objects of all names, and requests that name none. */
  readonly resourceNames: ReadonlyArray<string>
  /** A star at the end matches everything that begins so. */
  readonly nonResourceURLs: ReadonlyArray<string>
}

/** A rule that allows nothing. */
export const noRights: PolicyRule = { verbs: [], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [] }

/** The rules of a role's JSON; members of the wrong type count as absent. */
export const rulesOf = (role: Fields): ReadonlyArray<PolicyRule> =>
  items(role, "rules").map((rule) => ({
    verbs: texts(rule, "verbs"),
    apiGroups: texts(rule, "apiGroups"),
    resources: texts(rule, "resources"),
    resourceNames: texts(rule, "resourceNames"),
    nonResourceURLs: texts(rule, "nonResourceURLs"),
  }))

/** The rule as JSON in the server's order of members, without those that it does not have. */
export const ruleObject = (rule: PolicyRule): Fields => {
  const object: Fields = {}
  for (const key of members) if (key === "verbs" || rule[key].length > 0) object[key] = rule[key]
  return object
}

const members = ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"] as const

export const ruleAllows = (rule: PolicyRule, attributes: AccessAttributes): boolean => {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false
  if (attributes.type === "path") return rule.nonResourceURLs.some((url) => urlCovers(url, attributes.path))
  const { group, resource, subresource, name } = attributes
  return (
    hasOrAll(rule.apiGroups, group) &&
    resourceMatches(rule.resources, resource, subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  )
}

const hasOrAll = (values: ReadonlyArray<string>, value: string): boolean =>
  values.includes("*") || values.includes(value)

const resourceMatches = (resources: ReadonlyArray<string>, resource: string, subresource: string): boolean =>
  subresource === ""
    ? hasOrAll(resources, resource)
    : hasOrAll(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`)

/** Whether a URL of a rule stands for a path, or for another rule's URL. */
export const urlCovers = (url: string, path: string): boolean =>
  url === "*" || url === path || (url.endsWith("*") && path.startsWith(url.replace(/\*+$/, "")))
