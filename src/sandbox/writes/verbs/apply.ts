/** Server-side apply: the merge itself is patch/apply-server-side.ts; this is what comes before and after it. */

import { isUtf8 } from "node:buffer"
import { badRequest, objectNotFound } from "../../../apiserver/answers/failure.ts"
import { keyOf } from "../../../apiserver/watch/change.ts"
import { apiVersionOf } from "../../../kube/gvk.ts"
import { applyServerSide } from "../../patch/apply/apply-server-side.ts"
import type { JsonObject } from "../../patch/json/json-value.ts"
import { fieldsOf } from "../../rules/fields.ts"
import type { Fields, MutableObject, Subresource } from "../../rules/kind-rules.ts"
import { duplicateFields } from "../../schema/duplicate-fields.ts"
import { asGoWrites } from "../../schema/go-written.ts"
import { timestamp } from "../../timestamp.ts"
import { settleNamespace } from "../admission/admitted-names.ts"
import { stateOf } from "../answer.ts"
import { strictly, yamlProblem } from "../body/body.ts"
import { mayRepeat } from "../body/repeated-members.ts"
import { readYaml } from "../body/yaml-text.ts"
import { resetFieldsOf } from "../field-owners.ts"
import { refuse } from "../refusal.ts"
import type { WritableKind, WriteSurroundings } from "../surroundings.ts"
import { conflict } from "../write-failures.ts"
import type { WriteOptions } from "../write-options.ts"
import type { WriteRequest, Written } from "../write-request.ts"
import { createObject, settleName } from "./create.ts"
import { replaceObject } from "./update.ts"

/** Throws Refusal and the errors of applyServerSide. */
export const apply = (around: WriteSurroundings, request: WriteRequest, options: WriteOptions): Written => {
  const { resource, namespace, name } = request
  const kind = around.kindOf(resource)
  const applied = decodeApplied(request.body)
  const existing = kind.collection.live.get(keyOf(namespace, name))
  const subresource = request.subresource as Subresource
  if (existing === undefined) {
    if (subresource !== "") return refuse(objectNotFound(resource, name))
    const object = appliedTo(around, kind, { applied, live: undefined, options, subresource })
    checkRepeated(request.body, options)
    settle(kind, object, namespace, name)
    // The server ignores the version for an object that does not exist yet.
    object.metadata.resourceVersion = undefined
    refuseForeignUid(kind, object, name)
    const { managedFields } = object.metadata
    return createObject(around, kind, object, options, (created) => {
      created.metadata.managedFields = managedFields
    })
  }
  const live = stateOf(existing.change)
  const before = kind.fromStored(live)
  const after = appliedTo(around, kind, { applied, live: before, options, subresource })
  checkRepeated(request.body, options)
  settle(kind, after, namespace, name)
  return replaceObject(around, kind, {
    existing,
    before,
    after,
    subresource,
    options,
    track: (object) => object.metadata.managedFields,
  })
}

interface Application {
  readonly applied: Fields
  readonly live: MutableObject | undefined
  readonly options: WriteOptions
  readonly subresource: Subresource
}

/** The merged object; the caller may change its first two levels. Throws ApplyConflict. */
export const appliedTo = (
  around: WriteSurroundings,
  kind: WritableKind,
  { applied, live, options, subresource }: Application,
): MutableObject => {
  const resetFields = subresource === "" ? resetFieldsOf(kind) : [["spec"]]
  const answer = applyServerSide({
    type: kind.type,
    live: live as JsonObject | undefined,
    applied: applied as JsonObject,
    manager: options.manager,
    force: options.force,
    apiVersion: apiVersionOf(kind.resource.gvk),
    kind: kind.resource.gvk.kind,
    time: timestamp(around.clock),
    subresource,
    ...(subresource === "scale" ? {} : { resetFields }),
  })
  if (!("object" in answer)) throw answer
  const written = asGoWrites(kind.type, answer.object, live) as MutableObject
  return { ...written, metadata: { ...fieldsOf(written.metadata) } }
}

const settle = (kind: WritableKind, object: MutableObject, namespace: string, name: string): void => {
  kind.rules.setDefaults(object)
  settleNamespace(kind.resource, object, namespace)
  settleName(object, name)
}

const refuseForeignUid = ({ resource }: WritableKind, { metadata }: MutableObject, name: string): void => {
  const uid = metadata.uid ?? ""
  if (uid === "") return
  const problem = `uid mismatch: the provided object specified uid ${String(uid)}, and no existing object was found`
  refuse(conflict(resource, name, problem))
}

/** JSON is YAML, but is read many times faster as JSON. Throws Refusal. */
export const decodeApplied = (body: Buffer): Fields => {
  if (!isUtf8(body)) refuse(badRequest("the configuration is not YAML: it is not UTF-8"))
  const text = body.toString("utf8")
  const value = jsonOr(text, () => {
    try {
      return readYaml(text).value
    } catch (error) {
      return refuse(badRequest(`the configuration is not YAML: ${yamlProblem(error)}`))
    }
  })
  const fields = value === null ? {} : fieldsOf(value)
  return fields ?? refuse(badRequest("the configuration is not an object"))
}

/** The server reports duplicate keys only after a successful merge. Throws Refusal. */
const checkRepeated = (body: Buffer, { fieldValidation, warnings }: WriteOptions): void => {
  const repeated = fieldValidation === "Ignore" ? [] : repeatedKeys(body.toString("utf8"))
  if (repeated.length === 0) return
  if (fieldValidation === "Warn") warnings.push(...repeated)
  else refuse(badRequest(strictly(repeated)))
}

/** Line numbers are those of the text as YAML, even for JSON, which is parsed a second time only if necessary. */
const repeatedKeys = (text: string): ReadonlyArray<string> => {
  const value = jsonOr(text, () => undefined)
  if (value !== undefined && !(mayRepeat(text, value) && duplicateFields(text).length > 0)) return []
  return readYaml(text).repeated
}

const jsonOr = (text: string, other: () => unknown): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Not JSON: YAML, or neither.
    return other()
  }
}
