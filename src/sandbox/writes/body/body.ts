/**
 * The body of a write, decoded: JSON or YAML, of the kind the path is for. What is wrong with it is answered in the words
 * of Kubernetes 1.34.4.
 */

import { badRequest, type Failure, fail } from "../../../apiserver/answers/failure.ts"
import type { Resource, ResourceRegistry } from "../../../apiserver/kinds/resources.ts"
import { apiVersionOf, formatGvk, type GroupVersionKind } from "../../../kube/gvk.ts"
import { invalidObject } from "../../rules/invalid-object.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { SchemaCatalogue } from "../../schema/catalogue.ts"
import { decodeProblem } from "../../schema/decode-problem.ts"
import { depthProblem, maximumDepth } from "../../schema/strict-fields.ts"
import { refuse } from "../refusal.ts"
import { unsupportedMediaType } from "../write-failures.ts"
import { goJsonError } from "./go-json-error.ts"
import { mayRepeat, withMergedMembers } from "./repeated-members.ts"
import { readYaml, type YamlText } from "./yaml-text.ts"

/** Bytes; more is answered with 413. The real server's limit. */
export const bodyLimit = 3 * 1024 * 1024

export interface DecodedBody {
  readonly object: MutableObject
  readonly text: BodyText
}

/** What of a body's text the object no longer shows. */
export interface BodyText {
  /** What came, or the same as JSON. */
  readonly json: string
  /** A member may stand there twice. */
  readonly mayRepeat: boolean
  /** Keys that YAML has twice, in the words of its parser. */
  readonly repeated: ReadonlyArray<string>
}

/** Of built-in kinds, whichever sandbox asks. */
const builtinTypes = new SchemaCatalogue()

const acceptedOfCustom = ["application/json", "application/yaml"]

/** Bodies in protobuf have become JSON before they come here. */
export const accepted = [...acceptedOfCustom, "application/vnd.kubernetes.protobuf"]

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
  const custom = resource.custom === true && expected === resource.gvk
  if (!isYaml && contentType !== "application/json" && contentType !== "") {
    refuse(unsupportedMediaType(custom ? acceptedOfCustom : accepted))
  }
  const text = bytes.toString("utf8")
  if (isYaml) {
    const { value, json, repeated } = yamlValue(text, bytes, expected)
    const object = checkedObject(value, json, bytes, expected, custom, registry)
    return { object, text: { json, mayRepeat: false, repeated } }
  }
  const decoded = jsonValue(text, bytes, expected)
  const repeats = mayRepeat(text, decoded)
  // Into Go's maps of custom kinds the last value goes alone, as JSON.parse has it.
  const value = repeats && !custom ? withMergedMembers(text, decoded) : decoded
  const object = checkedObject(value, text, bytes, expected, custom, registry)
  return { object, text: { json: text, mayRepeat: repeats, repeated: [] } }
}

const jsonValue = (text: string, bytes: Buffer, expected: GroupVersionKind): unknown => {
  // Every level takes two characters at least.
  const tooDeep = text.length > 2 * maximumDepth ? depthProblem(text) : undefined
  if (tooDeep !== undefined) refuse(untyped(tooDeep, bytes, expected))
  try {
    return JSON.parse(text)
  } catch {
    // Go's words, not V8's.
    return refuse(untyped(goJsonError(text), bytes, expected))
  }
}

const yamlValue = (text: string, bytes: Buffer, expected: GroupVersionKind): YamlText => {
  try {
    return readYaml(text)
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
    return refuse(untyped(notAnObject(fields), bytes, expected))
  }
  const object = fields as Fields
  if (custom) checkCustom(object, text, bytes, expected, registry)
  else checkBuiltin(object, bytes, expected, registry)
  const { metadata } = object
  if (metadata === undefined || metadata === null) object.metadata = {}
  else if (typeof metadata !== "object" || Array.isArray(metadata)) {
    const problem = `json: cannot unmarshal ${jsonType(metadata)} into Go struct field ${expected.kind}.metadata of type v1.ObjectMeta`
    refuse(badRequest(`${handledAs(object, expected)}: ${problem}`))
  }
  return object as MutableObject
}

const checkBuiltin = (object: Fields, bytes: Buffer, expected: GroupVersionKind, registry: ResourceRegistry): void => {
  const apiVersion = object.apiVersion ?? ""
  const kind = object.kind ?? ""
  for (const [field, value] of [
    ["apiVersion", apiVersion],
    ["kind", kind],
  ] as const) {
    if (typeof value !== "string") {
      const problem = `json: cannot unmarshal ${jsonType(value)} into Go struct field .${field} of type string`
      refuse(untyped(problem, bytes, expected))
    }
  }
  if (String(apiVersion).split("/").length > 2)
    refuse(unrecognized(`unexpected GroupVersion string: ${String(apiVersion)}`, bytes, expected))
  if (apiVersion === "") object.apiVersion = apiVersionOf(expected)
  if (kind === "") object.kind = expected.kind
  if (object.apiVersion === apiVersionOf(expected) && object.kind === expected.kind) return
  refuse(badRequest(`${handledAs(object, expected)}: ${unknownConversion(object, expected, registry)}`))
}

/** An object is decoded as what it says it is before it could become another kind; `undefined` for no misfit. */
export const misfitAsItself = (object: Fields): string | undefined => {
  const apiVersion = String(object.apiVersion)
  const slash = apiVersion.indexOf("/")
  const group = apiVersion.slice(0, Math.max(0, slash))
  const type = builtinTypes.of({ group, version: apiVersion.slice(slash + 1), kind: String(object.kind) })
  return type === undefined ? undefined : decodeProblem(type, object)
}

const unknownConversion = (object: Fields, expected: GroupVersionKind, registry: ResourceRegistry): string => {
  const apiVersion = String(object.apiVersion)
  const kind = String(object.kind)
  const slash = apiVersion.indexOf("/")
  const gvk = { group: apiVersion.slice(0, Math.max(0, slash)), version: apiVersion.slice(slash + 1), kind }
  const known =
    formatGvk(gvk) === "v1.List" || registry.all().some((resource) => formatGvk(resource.gvk) === formatGvk(gvk))
  if (!known) return `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/runtime/scheme.go:110"`
  const misfit = misfitAsItself(object)
  if (misfit !== undefined) return misfit
  const [goPackage = ""] = (expected.group === "" ? "core" : expected.group).split(".")
  return `converting (${gvk.version}.${kind}) to (${goPackage}.${expected.kind}): unknown conversion`
}

const checkCustom = (
  object: Fields,
  text: string,
  bytes: Buffer,
  expected: GroupVersionKind,
  registry: ResourceRegistry,
): void => {
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
  if (apiVersion !== wanted) refuse(anotherVersion(object, wanted, registry))
}

/** A version that is not served has no schema, so no field of it is known. */
const anotherVersion = (object: Fields, wanted: string, registry: ResourceRegistry): Failure => {
  const given = String(object.apiVersion)
  const served = registry.all().some(({ gvk }) => apiVersionOf(gvk) === given && gvk.kind === object.kind)
  const unknown = served ? [] : Object.keys(object).filter((key) => !["apiVersion", "kind", "metadata"].includes(key))
  return {
    ...badRequest(`the API version in the data (${given}) does not match the expected API version (${wanted})`),
    ...(unknown.length === 0 ? {} : { warnings: unknown.sort().map((key) => `unknown field "${key}"`) }),
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

/** The server looks for apiVersion and kind before anything else. */
const untyped = (problem: string, bytes: Buffer, expected: GroupVersionKind) =>
  unrecognized(`couldn't get version/kind; json parse error: ${problem}`, bytes, expected)

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
