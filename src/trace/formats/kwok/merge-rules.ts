/**
 * How a strategic merge patch treats the fields of Kubernetes' own kinds: which lists it merges, and by which key.
 *
 * The rules are those of the `patchStrategy` and `patchMergeKey` tags in k8s.io/api 1.34 (a trace that this program wrote has no
 * `status`, one that kwok wrote may have it); they have not changed since 1.22 but for additions. A field is found by its name and that of the one
 * around it, list elements not counted: `containers/env`. Kinds of other groups have custom schemas, which carry no such
 * rules: their lists are replaced as a whole.
 */

import { isBuiltInKind } from "../../sanitising/built-in-kinds.ts"
import type { MergeRules } from "../../strategic-merge/merge-rules.ts"

/** What a patch does with a list or map that both sides have. */
type MergeRule =
  /** Elements with the same value of `key` are merged. */
  | { readonly tag: "merge"; readonly key: string }
  /** Values are added to the set. */
  | { readonly tag: "union" }
  /** The patch's value takes the place of the other. */
  | { readonly tag: "replace" }
  /** Lists are replaced, maps merged. */
  | { readonly tag: "default" }

const merge = (key: string): MergeRule => ({ tag: "merge", key })
const FALLBACK: MergeRule = { tag: "default" }

const CONTAINER_FIELDS: ReadonlyArray<readonly [field: string, rule: MergeRule]> = [
  ["env", merge("name")],
  ["ports", merge("containerPort")],
  ["volumeDevices", merge("devicePath")],
  ["volumeMounts", merge("mountPath")],
]

const METADATA_RULES: ReadonlyMap<string, MergeRule> = new Map([
  ["metadata/finalizers", { tag: "union" }],
  ["metadata/ownerReferences", merge("uid")],
])

const RULES: ReadonlyMap<string, MergeRule> = new Map([
  ...METADATA_RULES,
  ...["containers", "initContainers", "ephemeralContainers"].flatMap((list) => [
    [`spec/${list}`, merge("name")] as const,
    ...CONTAINER_FIELDS.map(([field, rule]) => [`${list}/${field}`, rule] as const),
  ]),
  ["spec/hostAliases", merge("ip")],
  ["spec/imagePullSecrets", merge("name")],
  ["spec/resourceClaims", merge("name")],
  ["spec/schedulingGates", merge("name")],
  ["spec/topologySpreadConstraints", merge("topologyKey")],
  ["spec/volumes", merge("name")],
  // ServiceAccount; CSINode; Node; admission configurations and policies.
  ["/secrets", merge("name")],
  ["spec/drivers", merge("name")],
  ["spec/podCIDRs", { tag: "union" }],
  ["/webhooks", merge("name")],
  ["webhooks/matchConditions", merge("name")],
  ["spec/matchConditions", merge("name")],
  ["spec/variables", merge("name")],
  ["status/addresses", merge("type")],
  ["status/conditions", merge("type")],
  ["status/hostIPs", merge("ip")],
  ["status/podIPs", merge("ip")],
  ["status/resourceClaimStatuses", merge("name")],
  ...["containerStatuses", "ephemeralContainerStatuses", "initContainerStatuses"].flatMap((list) => [
    [`${list}/allocatedResourcesStatus`, merge("name")] as const,
    [`${list}/volumeMounts`, merge("mountPath")] as const,
  ]),
])

/** Fields whose name alone would say something else. */
const RULES_OF_KIND: ReadonlyMap<string, MergeRule> = new Map([
  ["v1.Service spec/ports", merge("port")],
  ["policy/v1.PodDisruptionBudget spec/selector", { tag: "replace" }],
])

/** The rule for a field of a kind; `parent` is the name of the field around it, empty at the top. */
export const mergeRule = (gvk: string, parent: string, field: string): MergeRule => {
  const place = `${parent}/${field}`
  if (!isBuiltInKind(gvk)) return METADATA_RULES.get(place) ?? FALLBACK
  return RULES_OF_KIND.get(`${gvk} ${place}`) ?? RULES.get(place) ?? FALLBACK
}

/** The same rules for applying a patch. A field of any name may be there. */
export const mergeRulesOf = (gvk: string, parent = ""): MergeRules => ({
  of: (field) => {
    const rule = mergeRule(gvk, parent, field)
    return {
      strategy: rule.tag === "default" ? undefined : rule.tag === "replace" ? "replace" : "merge",
      mergeKey: rule.tag === "merge" ? rule.key : "",
      inside: () => mergeRulesOf(gvk, field),
    }
  },
})
