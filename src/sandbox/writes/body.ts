/**
 * The body of a write, decoded: JSON or YAML, of the kind the path is for. What is wrong with it is answered in the words
 * of Kubernetes 1.34.4.
 */

import { parse as parseYaml } from "yaml"
import { apiVersionOf, formatGvk, type GroupVersionKind } from "../../kube/gvk.ts"
import { badRequest, fail } from "../failure.ts"
import type { Resource, ResourceRegistry } from "../resources.ts"
import { invalidObject } from "../rules/invalid-object.ts"
import type { Fields, MutableObject } from "../rules/kind-rules.ts"
import { goJsonError } from "./go-json-error.ts"
import { refuse } from "./refusal.ts"
import { unsupportedMediaType } from "./write-failures.ts"

/** Bytes; more is answered with 413. The real server's limit. */
export const bodyLimit = 3 * 1024 * 1024

export interface DecodedBody {
  readonly object: MutableObject
  /** The JSON it came as, for finding duplicate keys; the empty string for YAML, whose parser refuses those itself. */
  readonly text: string
}

const accepted = ["application/json", "application/yaml"]

/**
 * The object of a create or an update. Fills in kind and apiVersion of a built-in kind and empty metadata, as Go's
 * decoder does. `expected` is another kind than the resource's for subresources. Throws Refusal: 415, 400.
 */
export const decodeBody = (
  bytes: Buffer,
  contentType: string,
  resource: Resource,
  registry: ResourceRegistry,
  expected: GroupVersionKind = resource.gvk,
): DecodedBody => {
  const isYaml = contentType === "application/yaml"
  if (!isYaml && contentType !== "application/json" && contentType !== "") refuse(unsupportedMediaType(accepted))
  const text = bytes.toString("utf8")
  const value = isYaml ? yamlValue(text, bytes, expected) : jsonValue(text, bytes, expected)
  const custom = resource.custom === true && expected === resource.gvk
  return { object: checkedObject(value, text, bytes, expected, custom, registry), text: isYaml ? "" : text }
}

const jsonValue = (text: string, bytes: Buffer, expected: GroupVersionKind): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Go's words, not V8's.
    return refuse(unrecognized(`couldn't get version/kind; json parse error: ${goJsonError(text)}`, bytes, expected))
  }
}

const yamlValue = (text: string, bytes: Buffer, expected: GroupVersionKind): unknown => {
  try {
    return parseYaml(text, { maxAliasCount: 100 })
  } catch (error) {
    return refuse(unrecognized(`yaml: ${yamlProblem(error)}`, bytes, expected))
  }
}

/** One line that says where; the wording is this parser's own. */
export const yamlProblem = (error: unknown): string => {
  const [first = ""] = String(error instanceof Error ? error.message : error).split("\n")
  return first.replace(/:$/, "")
}

const checkedObject = (
  value: unknown,
  text: string,
  bytes: Buffer,
  expected: GroupVersionKind,
  custom: boolean,
  registry: ResourceRegistry,
): MutableObject => {
  const fields = value === null && !custom ? {} : value
  if (typeof fields !== "object" || fields === null || Array.isArray(fields)) {
    return refuse(unrecognized(`couldn't get version/kind; json parse error: ${notAnObject(fields)}`, bytes, expected))
  }
  const object = fields as Fields
  if (custom) checkCustom(object, text, bytes, expected)
  else checkBuiltin(object, expected, registry)
  const { metadata } = object
  if (metadata === undefined || metadata === null) object.metadata = {}
  else if (typeof metadata !== "object" || Array.isArray(metadata)) {
    const problem = `json: cannot unmarshal ${jsonType(metadata)} into Go struct field ${expected.kind}.metadata of type v1.ObjectMeta`
    refuse(badRequest(`${handledAs(object, expected)}: ${problem}`))
  }
  return object as MutableObject
}

const checkBuiltin = (object: Fields, expected: GroupVersionKind, registry: ResourceRegistry): void => {
  const apiVersion = object.apiVersion ?? ""
  const kind = object.kind ?? ""
  for (const [field, value] of [
    ["apiVersion", apiVersion],
    ["kind", kind],
  ] as const) {
    if (typeof value !== "string") {
      const problem = `json: cannot unmarshal ${jsonType(value)} into Go struct field .${field} of type string`
      refuse(badRequest(`couldn't get version/kind; json parse error: ${problem}`))
    }
  }
  if (apiVersion === "") object.apiVersion = apiVersionOf(expected)
  if (kind === "") object.kind = expected.kind
  if (object.apiVersion === apiVersionOf(expected) && object.kind === expected.kind) return
  refuse(badRequest(`${handledAs(object, expected)}: ${unknownConversion(object, expected, registry)}`))
}

const unknownConversion = (object: Fields, expected: GroupVersionKind, registry: ResourceRegistry): string => {
  const apiVersion = String(object.apiVersion)
  const kind = String(object.kind)
  const slash = apiVersion.indexOf("/")
  const gvk = { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1), kind }
  const known = registry.all().some((resource) => formatGvk(resource.gvk) === formatGvk(gvk))
  if (!known) return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`
  const [goPackage = ""] = (expected.group === "" ? "core" : expected.group).split(".")
  return `converting (${gvk.version}.${kind}) to (${goPackage}.${expected.kind}): unknown conversion`
}

const checkCustom = (object: Fields, text: string, bytes: Buffer, expected: GroupVersionKind): void => {
  for (const [field, name] of [
    ["kind", "Kind"],
    ["apiVersion", "apiVersion"],
  ] as const) {
    const value = object[field]
    if (typeof value === "string" && value !== "") continue
    refuse(unrecognized(`Object '${name}' is missing in '${text}'`, bytes, expected))
  }
  const { kind, apiVersion } = object
  const name = String((object.metadata as Fields | undefined)?.name ?? "")
  const wanted = apiVersionOf(expected)
  const group = String(apiVersion).includes("/") ? String(apiVersion).split("/")[0] : ""
  const named = { gvk: { group: group ?? "", version: "", kind: String(kind) }, plural: "", namespaced: true }
  if (kind !== expected.kind) {
    refuse(
      invalidObject(named, name, [{ type: "Invalid", field: "kind", value: kind, detail: `must be ${expected.kind}` }]),
    )
  }
  if (apiVersion !== wanted) {
    refuse(
      invalidObject(named, name, [
        { type: "Invalid", field: "apiVersion", value: apiVersion, detail: `must be ${wanted}` },
      ]),
    )
  }
}

/** `Foo in version "v1" cannot be handled as a ConfigMap`: how every 400 about a decoded body begins. */
export const handledAs = (object: Fields, expected: GroupVersionKind): string => {
  const apiVersion = String(object.apiVersion ?? apiVersionOf(expected))
  const version = apiVersion.slice(apiVersion.indexOf("/") + 1)
  return `${String(object.kind ?? expected.kind)} in version "${version}" cannot be handled as a ${expected.kind}`
}

const unrecognized = (problem: string, bytes: Buffer, expected: GroupVersionKind) =>
  fail(400, `the object provided is unrecognized (must be of type ${expected.kind}): ${problem} (${summary(bytes)})`, {
    reason: "BadRequest",
  })

/** The first 30 bytes, as text if they look like JSON and in hexadecimal if not. */
const summary = (bytes: Buffer): string => {
  if (bytes.length === 0) return "<empty>"
  const shown = bytes.subarray(0, 30)
  const more = bytes.length > 30 ? " ..." : ""
  return `${bytes[0] === 0x7b ? shown.toString("utf8") : shown.toString("hex")}${more}`
}

const notAnObject = (value: unknown): string =>
  `json: cannot unmarshal ${jsonType(value)} into Go value of type ` +
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

/** How Go names the type of a JSON value. */
export const jsonType = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  if (typeof value === "boolean") return "bool"
  return value === null ? "null" : typeof value
}
