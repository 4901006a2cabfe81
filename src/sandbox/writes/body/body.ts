/** The body of a write, decoded: JSON or YAML, of the path's kind. Anything else is refused with 400. */

import { isUtf8 } from "node:buffer"
import { badRequest, type Failure } from "../../../apiserver/answers/failure.ts"
import { invalid } from "../../../apiserver/answers/field-error.ts"
import type { Resource } from "../../../apiserver/kinds/resources.ts"
import { apiVersionOf, type GroupVersionKind } from "../../../kube/gvk.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { isTooDeep, maximumDepth } from "../../schema/duplicate-fields.ts"
import { refuse } from "../refusal.ts"
import { invalidObject, unsupportedMediaType } from "../write-failures.ts"
import { mayRepeat, withMergedMembers } from "./repeated-members.ts"
import { readYaml, type YamlText } from "./yaml-text.ts"

/** Bytes; more is refused with 413. The real server's limit. */
export const bodyLimit = 3 * 1024 * 1024

interface DecodedBody {
  readonly object: MutableObject
  readonly text: BodyText
}

/** Facts about a body's text that the object no longer shows. */
export interface BodyText {
  /** The body, converted to JSON if it was not. */
  readonly json: string
  /** Whether a member may occur twice. */
  readonly mayRepeat: boolean
  /** Duplicate keys in YAML, in the words of its parser. */
  readonly repeated: ReadonlyArray<string>
}

const acceptedOfCustom = ["application/json", "application/yaml"]

/** Bodies in protobuf have been converted to JSON before they get here. */
export const accepted = [...acceptedOfCustom, "application/vnd.kubernetes.protobuf"]

/**
 * The object of a create or an update. Fills in kind and apiVersion of a built-in kind and empty metadata, as Go's
 * decoder does. For subresources `expected` is a kind other than the resource's. Throws Refusal: 415, 400.
 */
export const decodeBody = (
  bytes: Buffer,
  contentType: string,
  resource: Resource,
  expected: GroupVersionKind = resource.gvk,
): DecodedBody => {
  const isYaml = contentType === "application/yaml"
  const custom = resource.custom === true && expected === resource.gvk
  if (!isYaml && contentType !== "application/json" && contentType !== "") {
    refuse(unsupportedMediaType(custom ? acceptedOfCustom : accepted))
  }
  const text = bytes.toString("utf8")
  if (isYaml) {
    if (!isUtf8(bytes)) refuse(notOfKind(expected, "not YAML: it is not UTF-8"))
    const { value, json, repeated } = yamlValue(text, expected)
    return { object: checkedObject(value, expected, custom), text: { json, mayRepeat: false, repeated } }
  }
  const decoded = jsonValue(text, expected)
  const repeats = mayRepeat(text, decoded)
  // For custom kinds only the last value counts, as in JSON.parse.
  const value = repeats && !custom ? withMergedMembers(text, decoded) : decoded
  return { object: checkedObject(value, expected, custom), text: { json: text, mayRepeat: repeats, repeated: [] } }
}

const jsonValue = (text: string, expected: GroupVersionKind): unknown => {
  if (isTooDeep(text)) refuse(notOfKind(expected, `more than ${maximumDepth} levels`))
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return refuse(notOfKind(expected, `not JSON: ${cause.message}`))
  }
}

const yamlValue = (text: string, expected: GroupVersionKind): YamlText => {
  try {
    return readYaml(text)
  } catch (error) {
    return refuse(notOfKind(expected, `not YAML: ${yamlProblem(error)}`))
  }
}

/** One line that states the position. */
export const yamlProblem = (error: unknown): string => {
  const [first = ""] = String(error instanceof Error ? error.message : error).split("\n")
  return first.replace(/:$/, "")
}

const checkedObject = (value: unknown, expected: GroupVersionKind, custom: boolean): MutableObject => {
  const fields = value === null && !custom ? {} : value
  if (typeof fields !== "object" || fields === null || Array.isArray(fields))
    return refuse(notOfKind(expected, "not an object"))
  const object = fields as Fields
  if (custom) checkCustom(object, expected)
  else checkBuiltin(object, expected)
  const { metadata } = object
  if (metadata === undefined || metadata === null) object.metadata = {}
  else if (typeof metadata !== "object" || Array.isArray(metadata))
    refuse(notOfKind(expected, "metadata must be an object"))
  return object as MutableObject
}

const checkBuiltin = (object: Fields, expected: GroupVersionKind): void => {
  const apiVersion = object.apiVersion ?? ""
  const kind = object.kind ?? ""
  if (apiVersion === "") object.apiVersion = apiVersionOf(expected)
  if (kind === "") object.kind = expected.kind
  if (object.apiVersion === apiVersionOf(expected) && object.kind === expected.kind) return
  refuse(notOfKind(expected, `kind ${JSON.stringify(kind)} of version ${JSON.stringify(apiVersion)}`))
}

const checkCustom = (object: Fields, expected: GroupVersionKind): void => {
  for (const field of ["kind", "apiVersion"]) {
    const value = object[field]
    if (typeof value !== "string" || value === "") refuse(notOfKind(expected, `${field} is missing`))
  }
  const { kind, apiVersion } = object
  const name = String((object.metadata as Fields | undefined)?.name ?? "")
  const wanted = apiVersionOf(expected)
  const group = String(apiVersion).includes("/") ? String(apiVersion).split("/")[0] : ""
  const named = { gvk: { group: group ?? "", version: "", kind: String(kind) }, plural: "", namespaced: true }
  if (kind !== expected.kind) refuse(invalidObject(named, name, [invalid("kind", kind, `must be ${expected.kind}`)]))
  if (apiVersion !== wanted)
    refuse(
      badRequest(
        `the API version in the data (${String(apiVersion)}) does not match the expected API version (${wanted})`,
      ),
    )
}

/** The 400 for a body that cannot be decoded as the kind of its path. */
export const notOfKind = (expected: GroupVersionKind, problem: string): Failure =>
  badRequest(`the body cannot be read as a ${expected.kind} of ${apiVersionOf(expected)}: ${problem}`)

/** The message of strict field validation. */
export const strictly = (problems: ReadonlyArray<string>): string => `strict decoding error: ${problems.join(", ")}`
