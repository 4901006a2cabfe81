/** How values are walked along their types: which are leaves, which have members, and the types of the members. */

import { isEmptyObject, memberOf } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts"
import { keyElement, valueElement } from "./path-element.ts"

/** The type of values without a schema: objects are owned member by member, lists as a whole. */
export const anyType: KubernetesType = {
  kind: "any",
  fields: new Map(),
  required: [],
  items: undefined,
  listType: "atomic",
  listMapKeys: [],
  keyDefaults: new Map(),
  isAtomic: false,
  patchMergeKey: undefined,
  patchStrategies: new Set(),
  keepsUnknown: true,
  isNullable: true,
  default: undefined,
}

type Shape = "leaf" | "map" | "list"

/** `int-or-string` is always a leaf, as in the server. */
export const shapeOf = (type: KubernetesType, value: JsonValue | undefined): Shape => {
  switch (type.kind) {
    case "object":
    case "map":
      return type.isAtomic ? "leaf" : "map"
    case "list":
      return type.listType === "atomic" ? "leaf" : "list"
    case "any":
      return !type.isAtomic && (value === null || isJsonObject(value)) ? "map" : "leaf"
    default:
      return "leaf"
  }
}

/** The type of an object's or map's member; `undefined` for fields that the type does not have. */
export const memberType = (type: KubernetesType, key: string): KubernetesType | undefined => {
  const field = type.fields.get(key)
  if (field !== undefined) return field
  if (type.kind === "map") return type.items ?? anyType
  return type.kind === "any" || type.keepsUnknown || type.fields.size === 0 ? anyType : undefined
}

export const itemType = (type: KubernetesType): KubernetesType => type.items ?? anyType

/** Names of the key fields in the order in which elements have them. */
const sortedKeys = new WeakMap<KubernetesType, ReadonlyArray<string>>()

const keysOf = (type: KubernetesType): ReadonlyArray<string> => {
  const known = sortedKeys.get(type)
  if (known !== undefined) return known
  const keys = [...type.listMapKeys].sort()
  sortedKeys.set(type, keys)
  return keys
}

/** The path element of an item of a set or keyed list; `undefined` for an item that such a list cannot contain. */
export const itemElement = (type: KubernetesType, item: JsonValue): string | undefined => {
  if (type.listType === "set") {
    return item === null || typeof item === "object" ? undefined : valueElement(item)
  }
  if (!isJsonObject(item)) return undefined
  const fields: Array<readonly [string, JsonValue]> = []
  for (const key of keysOf(type)) {
    const value = memberOf(item, key) ?? (type.keyDefaults.get(key) as JsonValue | undefined)
    if (value !== undefined) fields.push([key, value])
  }
  return fields.length === 0 ? undefined : keyElement(fields)
}

export const isEmptyMap = (value: JsonObject | undefined): boolean => value === undefined || isEmptyObject(value)
