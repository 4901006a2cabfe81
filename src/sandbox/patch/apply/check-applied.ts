/** Checks that an applied configuration fits its type. The server refuses others with a 500 without a reason. */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonTypeOf } from "../json/json-value.ts"
import { elementText } from "../managed-fields/path-element.ts"
import { itemElement, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"
import { PatchError } from "../patch-failure.ts"

/** @throws PatchError 500 */
export const checkApplied = (type: KubernetesType, applied: JsonObject, apiVersion: string): void => {
  const problems: string[] = []
  check(type, applied, "", problems)
  if (problems.length === 0) return
  const name = isJsonObject(applied.metadata) ? applied.metadata.name : undefined
  const kind = gvkText(apiVersion, String(applied.kind ?? ""))
  throw new PatchError({
    code: 500,
    problem: `the configuration ${String(name ?? "")} (${kind}) does not fit its type: ${problems.join("; ")}`,
  })
}

/** `apps/v1, Kind=Deployment`; a core kind has an empty group before its `/`. */
export const gvkText = (apiVersion: string, kind: string): string =>
  `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`

const check = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (value === null) return
  switch (type.kind) {
    case "object":
    case "map":
      checkMembers(type, value, path, problems)
      return
    case "list":
      checkItems(type, value, path, problems)
      return
    case "string":
    case "boolean":
      if (typeof value !== type.kind) problems.push(misfit(path, type.kind, value))
      return
    case "integer":
    case "number":
      if (typeof value !== "number") problems.push(misfit(path, "number", value))
      return
    default:
      if (shapeOf(type, value) === "map") checkMembers(type, value, path, problems)
  }
}

const checkMembers = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonObject(value)) {
    problems.push(misfit(path, "object", value))
    return
  }
  for (const key of Object.keys(value)) {
    const known = memberType(type, key)
    if (known === undefined) {
      problems.push(at(`${path}.${key}`, "field not declared in schema"))
      // The server checks no further in this object.
      return
    }
    check(known, value[key] as JsonValue, `${path}.${key}`, problems)
  }
}

const checkItems = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonArray(value)) {
    problems.push(misfit(path, "list", value))
    return
  }
  const items = itemType(type)
  const seen = new Set<string>()
  for (let index = 0; index < value.length; index++) {
    const item = value[index] as JsonValue
    let place = `[${index}]`
    if (type.listType !== "atomic") {
      const element = itemElement(type, item)
      if (element === undefined) {
        const expected = type.listType === "set" ? "a scalar" : `an object with ${type.listMapKeys.join(" or ")}`
        problems.push(at(path, `item ${index} must be ${expected}`))
        return
      }
      place = elementText(element)
      if (seen.has(element)) problems.push(at(path, `duplicate entries for key ${place}`))
      seen.add(element)
    }
    check(items, item, `${path}${place}`, problems)
  }
}

const at = (path: string, problem: string): string => (path === "" ? problem : `${path}: ${problem}`)

const misfit = (path: string, expected: string, value: JsonValue): string =>
  at(path, `expected ${expected}, got ${jsonTypeOf(value)}`)
