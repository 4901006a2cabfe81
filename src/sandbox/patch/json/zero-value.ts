/**
 * The value of a built-in kind's object before it is created: the server compares with an empty Go struct, in which
 * parts that are not pointers exist already. That is why the creator of a Deployment owns `f:spec: {f:replicas…}` but
 * not `spec` itself, while the creator of a custom resource owns `spec` too.
 *
 * The schema shows which: its generator writes a zero default (`{}`, `""`, `0`, `false`) for exactly the fields that
 * are always present, and lists that are always present are required.
 */

import { isEmptyObject, setMember } from "../../../own-member.ts"
import type { KubernetesType } from "../../schema/kubernetes-type.ts"
import { isJsonObject, type JsonObject, type JsonObjectDraft, type JsonValue } from "./json-value.ts"

/** Only the parts that `after` has: absent ones cannot differ. */
export const zeroValueBeside = (type: KubernetesType, after: JsonObject): JsonObject => {
  const zero: JsonObjectDraft = {}
  for (const key of Object.keys(after)) {
    const field = type.fields.get(key)
    if (field === undefined) continue
    const value = zeroField(type, key, field, after[key] as JsonValue)
    if (value !== undefined) setMember(zero, key, value)
  }
  return zero
}

const zeroField = (
  type: KubernetesType,
  key: string,
  field: KubernetesType,
  after: JsonValue,
): JsonValue | undefined => {
  const { default: preset } = field
  if (field.kind === "object" && isJsonObject(preset as JsonValue) && isEmptyObject(preset as JsonObject)) {
    return isJsonObject(after) ? zeroValueBeside(field, after) : {}
  }
  if (preset === "" || preset === 0 || preset === false) return preset
  // Times and lists that are always present are written as null when they are empty; a required object without a default is a pointer.
  const isWritten = type.required.includes(key) && field.kind !== "object"
  return isWritten || after === null ? null : undefined
}
