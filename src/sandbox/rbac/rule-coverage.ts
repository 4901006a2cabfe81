/**
 * Whether a user who has certain rules may give away certain others: everything that these allow must be allowed
 * already. Messages say what is missing in the server's words.
 */

import { noRights, type PolicyRule, urlCovers } from "./policy-rule.ts"

/**
 * What the rules allow beyond those that the owner has: rules with one verb, one group, one resource and at most one name, or
 * with one verb and one URL. Empty if the owner has it all. A right that the owner has only through several rules together, such
 * as `*` by listing all verbs, counts as missing, as in the real server.
 */
export const missingRights = (
  owned: ReadonlyArray<PolicyRule>,
  wanted: ReadonlyArray<PolicyRule>,
): ReadonlyArray<PolicyRule> =>
  wanted.flatMap(singleRights).filter((right) => !owned.some((rule) => ruleCovers(rule, right)))

const singleRights = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule) => {
  const names = resourceNames.length === 0 ? [[]] : resourceNames.map((name) => [name])
  return verbs.flatMap(
    (verb): ReadonlyArray<PolicyRule> => [
      ...apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          names.map((resourceNames) => ({
            ...noRights,
            verbs: [verb],
            apiGroups: [group],
            resources: [resource],
            resourceNames,
          })),
        ),
      ),
      ...nonResourceURLs.map((url) => ({ ...noRights, verbs: [verb], nonResourceURLs: [url] })),
    ],
  )
}

const ruleCovers = (rule: PolicyRule, right: PolicyRule): boolean =>
  coversAll(rule.verbs, right.verbs) &&
  coversAll(rule.apiGroups, right.apiGroups) &&
  right.resources.every((resource) => resourceCovered(rule.resources, resource)) &&
  (rule.resourceNames.length === 0 ||
    (right.resourceNames.length > 0 && right.resourceNames.every((name) => rule.resourceNames.includes(name)))) &&
  right.nonResourceURLs.every((path) => rule.nonResourceURLs.some((url) => urlCovers(url, path)))

const coversAll = (values: ReadonlyArray<string>, wanted: ReadonlyArray<string>): boolean =>
  values.includes("*") || wanted.every((value) => values.includes(value))

const resourceCovered = (resources: ReadonlyArray<string>, resource: string): boolean => {
  if (resources.includes("*") || resources.includes(resource)) return true
  const slash = resource.indexOf("/")
  return slash >= 0 && resources.includes(`*${resource.slice(slash)}`)
}

/** One line for each resource and URL, sorted, with all verbs that are missing. */
export const describeRights = (rights: ReadonlyArray<PolicyRule>): string => {
  const compact = new Map<string, PolicyRule>()
  for (const right of rights) {
    const isOfPath = right.nonResourceURLs.length > 0
    const key = isOfPath
      ? `path ${compact.size}`
      : JSON.stringify([right.apiGroups, right.resources, right.resourceNames])
    const known = compact.get(key)
    compact.set(key, known === undefined ? right : { ...known, verbs: [...known.verbs, ...right.verbs] })
  }
  return [...new Set(Array.from(compact.values(), describeRule))].sort(byBytes).join("\n")
}

/** Go sorts text by its bytes. */
const byBytes = (left: string, right: string): number => Buffer.compare(Buffer.from(left), Buffer.from(right))

const describeRule = (rule: PolicyRule): string => {
  const parts = (
    [
      ["APIGroups", rule.apiGroups],
      ["Resources", rule.resources],
      ["NonResourceURLs", rule.nonResourceURLs],
      ["ResourceNames", rule.resourceNames],
      ["Verbs", rule.verbs],
    ] as const
  ).filter(([, values]) => values.length > 0)
  return `{${parts.map(([name, values]) => `${name}:${quotedList(values)}`).join(", ")}}`
}

/** Go's `%q` of a list of texts. */
export const quotedList = (values: ReadonlyArray<string>): string =>
  `[${values.map((value) => JSON.stringify(value)).join(" ")}]`
