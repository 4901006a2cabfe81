/**
 * Whether an applied configuration fits its type, in the words of the server's structured-merge library. The server
 * answers these with a 500 without a reason.
 */

import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { goSyntax, goText, goTypeName } from "../json/go-text.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts"
import { elementText } from "../managed-fields/path-element.ts"
import { itemElement, itemProblem, itemType, memberType, shapeOf } from "../managed-fields/type-walk.ts"
import { UnclassifiedPatchError } from "../patch-failure.ts"

/** @throws UnclassifiedPatchError */
export const checkApplied = (type: KubernetesType, applied: JsonObject, apiVersion: string): void => {
  const problems: string[] = []
  check(type, applied, "", problems)
  if (problems.length === 0) return
  const text =
    problems.length === 1 ? problems[0] : ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n")
  throw new UnclassifiedPatchError({
    problem: `failed to create typed patch object (${nameOf(applied, apiVersion)}): ${text}`,
  })
}

/** As the configuration names itself; the namespace of the request's path does not count. */
const nameOf = (applied: JsonObject, apiVersion: string): string => {
  const metadata = isJsonObject(applied.metadata) ? applied.metadata : {}
  const { namespace, name } = metadata
  const text = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "")
  return `${text(namespace)}/${text(name)}; ${gvkText(apiVersion, text(applied.kind))}`
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
      if (typeof value !== "string") {
        problems.push(at(path, `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`))
      }
      return
    case "integer":
    case "number":
      if (typeof value !== "number") {
        problems.push(at(path, `expected numeric (int or float), got ${goTypeName(value)}`))
      }
      return
    case "boolean":
      if (typeof value !== "boolean") problems.push(at(path, `expected boolean, got &{${goText(value)}}`))
      return
    default:
      if (shapeOf(type, value) === "map") checkMembers(type, value, path, problems)
  }
}

const checkMembers = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonObject(value)) {
    problems.push(at(path, `expected map, got &{${goText(value)}}`))
    return
  }
  for (const key of Object.keys(value)) {
    const known = memberType(type, key)
    if (known === undefined) {
      problems.push(at(`${path}.${key}`, "field not declared in schema"))
      // The server looks no further in this object.
      return
    }
    check(known, value[key] as JsonValue, `${path}.${key}`, problems)
  }
}

const checkItems = (type: KubernetesType, value: JsonValue, path: string, problems: string[]): void => {
  if (!isJsonArray(value)) {
    problems.push(at(path, `expected list, got &{${goText(value)}}`))
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
        problems.push(at(path, `element ${index}: ${itemProblem(type, item)}`))
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
