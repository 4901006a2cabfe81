/**
 * `kubectl.kubernetes.io/last-applied-configuration` under server-side apply: an object created by `kubectl apply`
 * may be taken over by `kubectl apply --server-side` without conflicts, and its annotation is kept up to date for the
 * way back. Only for the manager named `kubectl`, as in the real server.
 */

import { memberOf } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, withMember } from "../json/json-value.ts"
import { type FieldChanges, fieldChanges } from "../managed-fields/field-changes.ts"
import { difference, type FieldSet, isEmptySet, leaf } from "../managed-fields/field-set.ts"
import { fieldsOf } from "../managed-fields/fields-of.ts"

const ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

/** Keys and values of all annotations together, in bytes of UTF-8. */
const ANNOTATIONS_LIMIT = 256 * 1024

const annotationsOf = (object: JsonObject): JsonObject => {
  const metadata = memberOf(object, "metadata")
  const annotations = isJsonObject(metadata) ? memberOf(metadata, "annotations") : undefined
  return isJsonObject(annotations) ? annotations : {}
}

const lastApplied = (object: JsonObject): string | undefined => {
  const text = memberOf(annotationsOf(object), ANNOTATION)
  return typeof text === "string" && text !== "" ? text : undefined
}

/**
 * The fields that client-side apply set and that have not changed since: taking them over is not a conflict. Empty
 * without a readable annotation.
 */
export const fieldsOfLastApplied = (type: KubernetesType, live: JsonObject, apiVersion: string): FieldSet => {
  const text = lastApplied(live)
  const applied = text === undefined ? undefined : parseObject(text)
  if (applied === undefined || applied.apiVersion !== apiVersion) return leaf
  const fields = fieldsOf(type, applied)
  const changes: FieldChanges | undefined = fieldChanges(type, applied, live)
  return changes === undefined ? fields : difference(difference(fields, changes.touched), changes.removed)
}

/** The object with its annotation, if it has one, replaced by the applied configuration. */
export const withLastApplied = (object: JsonObject, applied: JsonObject): JsonObject => {
  if (lastApplied(object) === undefined) return object
  const text = `${goEncoded(withoutAnnotation(applied))}\n`
  const others = withMember(annotationsOf(object), ANNOTATION, undefined)
  const annotations =
    sizeOf(others) + byteLength(ANNOTATION) + byteLength(text) <= ANNOTATIONS_LIMIT
      ? withMember(others, ANNOTATION, text)
      : others
  const metadata = memberOf(object, "metadata") as JsonObject
  return withMember(object, "metadata", withMember(metadata, "annotations", annotations))
}

const withoutAnnotation = (applied: JsonObject): JsonObject => {
  const metadata = memberOf(applied, "metadata")
  if (!isJsonObject(metadata) || !isJsonObject(memberOf(metadata, "annotations"))) return applied
  const annotations = withMember(annotationsOf(applied), ANNOTATION, undefined)
  return withMember(applied, "metadata", withMember(metadata, "annotations", annotations))
}

const byteLength = (text: string): number => Buffer.byteLength(text)

const sizeOf = (annotations: JsonObject): number => {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) bytes += byteLength(key) + byteLength(String(value))
  return bytes
}

/** As Go's encoder writes it: sorted keys, safe for HTML. */
const goEncoded = (value: JsonValue): string => {
  if (isJsonArray(value)) return `[${value.map(goEncoded).join(",")}]`
  if (isJsonObject(value)) {
    const members = Object.keys(value)
      .sort()
      .map((key) => `${escaped(key)}:${goEncoded(value[key] as JsonValue)}`)
    return `{${members.join(",")}}`
  }
  return typeof value === "string" ? escaped(value) : JSON.stringify(value)
}

const escaped = (text: string): string =>
  JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )

const parseObject = (text: string): JsonObject | undefined => {
  try {
    const value = JSON.parse(text) as JsonValue
    return isJsonObject(value) ? value : undefined
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

/** Whether every conflicting field may be taken over. */
export const isAllowed = (conflicting: FieldSet, allowed: FieldSet): boolean =>
  isEmptySet(difference(conflicting, allowed))
