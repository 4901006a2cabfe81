/**
 * The strategic merge patch that turns one state of an object into another.
 *
 * Guarantee: applied by Kubernetes' own rules it gives exactly the second state, lists in its order; if no such patch can express the
 * change reliably, the result is `undefined`, and the whole object must be written instead. Neither state has nulls.
 */

import { isDeepStrictEqual } from "node:util"
import * as Schema from "effect/Schema"
import { memberOf } from "../../../own-member.ts"
import { isJsonList, isJsonObject, type JsonObject, type JsonValue, withProperty } from "../../json/exact-json.ts"
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

/**
 * The rules are those of the `patchStrategy` and `patchMergeKey` tags in k8s.io/api 1.34, which have not changed since
 * 1.22 but for additions. A field is found by its name and that of the one around it, list elements not counted:
 * `containers/env`. Custom kinds carry no such rules: their lists are replaced as a whole.
 */
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
const mergeRule = (gvk: string, parent: string, field: string): MergeRule => {
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

/** Thrown and caught only in this module: most changes can be expressed, and otherwise each level would have to pass on a failure. */
class Inexpressible extends Schema.TaggedError<Inexpressible>()("Inexpressible", {}) {}

/** The patch, empty if the states are equal; `undefined` if there is no reliable one. */
export const strategicDiff = (gvk: string, before: JsonObject, after: JsonObject): JsonObject | undefined => {
  try {
    return mapDiff(gvk, "", before, after)
  } catch (error) {
    if (error instanceof Inexpressible) return undefined
    throw error
  }
}

/** `start`: members that the patch has in any case. */
const mapDiff = (
  gvk: string,
  parent: string,
  before: JsonObject,
  after: JsonObject,
  start: Record<string, JsonValue> = {},
): JsonObject => {
  let patch = start
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch = withProperty(patch, key, null)
  for (const [key, value] of Object.entries(after)) {
    // A field with such a name would be read as a directive.
    if (key.startsWith("$")) throw new Inexpressible({})
    const old = memberOf(before, key)
    if (old !== undefined && isDeepStrictEqual(old, value)) continue
    if (old === undefined) patch = withProperty(patch, key, checked(value))
    else
      for (const [name, difference] of fieldDiff(gvk, parent, key, old, value))
        patch = withProperty(patch, name, difference)
  }
  return patch
}

/** The patch for a field that both states have: one entry, or two if the order of a list must be given. */
const fieldDiff = (
  gvk: string,
  parent: string,
  key: string,
  old: JsonValue,
  value: JsonValue,
): ReadonlyArray<readonly [name: string, value: JsonValue]> => {
  const rule = mergeRule(gvk, parent, key)
  if (isJsonObject(old) && isJsonObject(value))
    return [[key, rule.tag === "replace" ? checked(value) : mapDiff(gvk, key, old, value)]]
  if (isJsonList(old) && isJsonList(value)) {
    if (rule.tag === "union") throw new Inexpressible({})
    if (rule.tag === "merge") return listDiff(gvk, key, rule.key, old, value)
  }
  return [[key, checked(value)]]
}

/** Elements that were changed, added or removed; and the order if it is a new one, since new elements would come first. */
const listDiff = (
  gvk: string,
  field: string,
  mergeKey: string,
  before: ReadonlyArray<JsonValue>,
  after: ReadonlyArray<JsonValue>,
): ReadonlyArray<readonly [name: string, value: JsonValue]> => {
  const old = byKey(before, mergeKey)
  const fresh = byKey(after, mergeKey)
  const kept = [...old.keys()].filter((key) => fresh.has(key))
  if (kept.length === 0) return [[field, [{ $patch: "replace" }, ...after.map(checked)]]]
  const patch: JsonValue[] = []
  for (const [key, element] of fresh) {
    const former = old.get(key)
    if (former === undefined) patch.push(checked(element))
    else if (!isDeepStrictEqual(former, element)) patch.push(mapDiff(gvk, field, former, element, { [mergeKey]: key }))
  }
  for (const key of old.keys()) if (!fresh.has(key)) patch.push({ $patch: "delete", [mergeKey]: key })
  const entry = [field, patch] as const
  if (isDeepStrictEqual([...fresh.keys()], kept)) return [entry]
  const order = [...fresh.keys()].map((key) => ({ [mergeKey]: key }))
  return patch.length === 0 ? [[`$setElementOrder/${field}`, order]] : [[`$setElementOrder/${field}`, order], entry]
}

/** Elements by their key. */
const byKey = (list: ReadonlyArray<JsonValue>, mergeKey: string): Map<string | number, JsonObject> => {
  const found = new Map<string | number, JsonObject>()
  for (const element of list) {
    const key = isJsonObject(element) && Object.hasOwn(element, mergeKey) ? element[mergeKey] : undefined
    // Without a unique key an element cannot be named: ports may share a number, and references have lost their uid.
    if (!isJsonObject(element) || !(typeof key === "string" || typeof key === "number") || found.has(key))
      throw new Inexpressible({})
    found.set(key, element)
  }
  return found
}

/** Checks that a value that is copied into the patch does not look like a directive. */
const checked = (value: JsonValue): JsonValue => {
  if (isJsonList(value)) for (const item of value) checked(item)
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value)) {
      if (key.startsWith("$")) throw new Inexpressible({})
      checked(member)
    }
  return value
}
