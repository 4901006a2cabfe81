/** The body of a write, decoded: JSON or YAML, of the path's kind. Anything else is refused with 400. */
import { isUtf8 } from "node:buffer"
import { type Document, isAlias, isMap, isScalar, LineCounter, parseAllDocuments, visit } from "yaml"
import { badRequest, type Failure, invalid, type Resource } from "../../../apiserver/index.ts"
import { apiVersionOf, type GroupVersionKind } from "../../../kube/offline.ts"
import { child, fieldsOf, isWhole } from "../../rules/fields.ts"
import type { Fields, MutableObject } from "../../rules/kind-rules.ts"
import { isTooDeep, maximumDepth } from "../../schema/duplicate-fields.ts"
import { pruneUnknownFields, strictFieldProblems, undecodable, unknownFields } from "../../schema/field-check.ts"
import { asGoWrites } from "../../schema/go-written.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { refuse } from "../../store/refusal.ts"
import { withMergedMembers } from "./repeated-members.ts"
import { invalidObject, unsupportedMediaType } from "./write-failures.ts"
import type { WriteOptions } from "./write-options.ts"

/** Bytes; more is refused with 413. The real server's limit. */
export const bodyLimit = 3 * 1024 * 1024

interface DecodedBody {
  readonly object: MutableObject
  readonly text: BodyText
}

/** Facts about a body's text that the object no longer shows. */
interface BodyText {
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
  const object = fieldsOf(value === null && !custom ? {} : value) ?? refuse(notOfKind(expected, "not an object"))
  if (custom) checkCustom(object, expected)
  else checkBuiltin(object, expected)
  object.metadata ??= {}
  return isWhole(object) ? object : refuse(notOfKind(expected, "metadata must be an object"))
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
  const name = String(child(object, "metadata")?.name ?? "")
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

// Checks a decoded object against the type of its kind: values of the wrong type are refused, unknown and duplicate
// fields are refused or warned about as the client requests, and unknown ones are dropped.

/** `text` is the body of the request. Changes the object to what Go would write. Throws Refusal. */
export const checkFields = (
  { resource, type }: { readonly resource: Resource; readonly type: KubernetesType },
  object: MutableObject,
  text: BodyText,
  { fieldValidation, warnings }: WriteOptions,
): void => {
  const misfit = undecodable(type, object)
  if (misfit !== undefined) refuse(notOfKind(resource.gvk, misfit))
  const { json, mayRepeat, repeated } = text
  const isClean = unknownFields(type, object).length === 0
  const mayWarn = fieldValidation === "Strict" || mayRepeat || repeated.length > 0
  if (!isClean || (fieldValidation !== "Ignore" && mayWarn)) {
    const problems = fieldValidation === "Ignore" ? [] : strictFieldProblems(type, json, object)
    if (fieldValidation === "Strict" && problems.length + repeated.length > 0)
      refuse(notOfKind(resource.gvk, strictly([...repeated, ...problems])))
    pruneUnknownFields(type, object)
    if (fieldValidation !== "Ignore") warnings.push(...repeated, ...problems)
  }
  writeAsGo(type, object)
}

/** In place: the object has just been decoded and belongs to the caller. */
const writeAsGo = (type: KubernetesType, object: MutableObject): void => {
  const written = asGoWrites(type, object)
  if (written === object) return
  for (const key of Object.keys(object)) if (!Object.hasOwn(written, key)) delete object[key]
  Object.assign(object, written)
}

/**
 * Whether a text may name a member twice. A text without white space that is as long as its value's JSON does not,
 * except for contrived ones. Far cheaper than a search.
 */
export const mayRepeat = (text: string, value: unknown): boolean =>
  text !== "" && text.trimEnd().length !== JSON.stringify(value).length

// YAML as the real server reads it (sigs.k8s.io/yaml, which is YAML 1.1 in the main): the first document of several,
// `yes` and `on` are booleans, there is no base 60 and there are no timestamps, and the last value of a duplicate key
// counts.
//
// Aliases are followed 100 times at most, whatever their nesting.

interface YamlText {
  readonly value: unknown
  /** The YAML converted to JSON. */
  readonly json: string
  /** `line 8: key "a" already set in map`, one for each duplicate, in their order. */
  readonly repeated: ReadonlyArray<string>
}

const maximumAliases = 100
/** Tags of YAML 1.1 that Go's parser does not resolve. */
const unknownTags: ReadonlySet<string> = new Set(["tag:yaml.org,2002:timestamp"])

/** @throws the parser's error for text that is not YAML, and an Error for keys that JSON cannot have */
export const readYaml = (text: string): YamlText => {
  const lines = new LineCounter()
  const [document] = parseAllDocuments(text, {
    version: "1.1",
    uniqueKeys: false,
    lineCounter: lines,
    customTags: (tags) =>
      tags.filter((tag) => typeof tag === "string" || !(unknownTags.has(tag.tag) || tag.format === "TIME")),
  })
  if (document === undefined) return { value: null, json: "null", repeated: [] }
  const [problem] = (document as Document).errors
  if (problem !== undefined) throw problem
  refuseOtherKeys(document as Document)
  const json = jsonOf((document as Document).toJS({ maxAliasCount: maximumAliases }))
  return { value: JSON.parse(json), json, repeated: repeatedKeys(document as Document, lines) }
}

/** Go's reader converts keys that are text, numbers or booleans, and refuses null, lists and maps. */
const refuseOtherKeys = (document: Document): void => {
  visit(document, {
    Pair: (_, { key }) => {
      if (!isScalar(key) ? !isAlias(key) : key.value === null) throw new Error("a key that is null, a list or a map")
    },
  })
}

/** An anchor inside its own value makes a cycle, which Go's parser refuses and JSON cannot express. */
const jsonOf = (value: unknown): string => {
  try {
    return JSON.stringify(value ?? null)
  } catch (cause) {
    throw new Error("anchor value contains itself", { cause })
  }
}

const repeatedKeys = (document: Document, lines: LineCounter): ReadonlyArray<string> => {
  const repeated: string[] = []
  visit(document, {
    Map: (_, map) => {
      if (!isMap(map)) return
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        if (!isScalar(key) || key.value === "<<") continue
        if (seen.has(key.value)) {
          const { line } = lines.linePos(key.range?.[0] ?? 0)
          repeated.push(`line ${line}: key ${JSON.stringify(key.value)} already set in map`)
        }
        seen.add(key.value)
      }
    },
  })
  return repeated
}
