/**
 * Checks objects against their type: finds or removes unknown fields, and reports the errors of strict field validation.
 *
 * No recursion beyond a fixed depth; linear in the size of the object. Nothing throws, whatever the JSON.
 */

import { isRecord } from "../../is-record.ts"
import { memberOf } from "../../own-member.ts"
import { decodeProblem } from "./decode-problem.ts"
import { duplicateFields, maximumProblems } from "./duplicate-fields.ts"
import { type FieldPath, formatFieldPath } from "./field-path.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { schemaNameOf } from "./make-type.ts"
import { membersOf, type TypedValue } from "./typed-value.ts"

/** Paths of the fields that `type` does not have: `spec.containers[0].foo`. */
export const unknownFields = (type: KubernetesType, value: unknown): string[] =>
  visitUnknown(type, value, (path, key) => formatFieldPath(path, key))

/**
 * Removes the fields that `type` does not have, in place, and returns their paths like {@link unknownFields}. The
 * server does this to every object it stores, with any `fieldValidation`.
 */
export const pruneUnknownFields = (type: KubernetesType, value: unknown): string[] =>
  visitUnknown(type, value, (path, key, holder) => {
    delete holder[key]
    return formatFieldPath(path, key)
  })

const visitUnknown = (
  type: KubernetesType,
  value: unknown,
  found: (path: FieldPath | undefined, key: string, holder: Record<string, unknown>) => string,
): string[] => {
  const unknown: string[] = []
  if (isKnown(type, value, 0)) return unknown
  const waiting: TypedValue[] = [{ type, value, path: undefined }]
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    const { type: known, value: holder, path } = visit
    if (known.kind === "object" && !known.keepsUnknown && isRecord(holder))
      for (const key of Object.keys(holder)) if (!known.fields.has(key)) unknown.push(found(path, key, holder))
    for (const member of membersOf(visit)) if (mayHoldFields(member.type)) waiting.push(member)
  }
  return unknown
}

/** The quick pass stops at this depth to protect the stack. No real object is nearly as deep. */
const quickDepth = 200

/** Nearly every object has no unknown fields, so this pass comes first: it checks everything and allocates nothing. */
const isKnown = (type: KubernetesType, value: unknown, depth: number): boolean => {
  if (typeof value !== "object" || value === null || !mayHoldFields(type)) return true
  if (depth > quickDepth) return false
  const { items } = type
  if (Array.isArray(value)) {
    if (type.kind !== "list" || items === undefined || !mayHoldFields(items)) return true
    return value.every((item) => isKnown(items, item, depth + 1))
  }
  if (!isRecord(value) || type.kind === "list") return true
  if (type.kind === "map" && !mayHoldFields(items)) return true
  for (const name of Object.keys(value)) {
    const field = type.kind === "map" ? items : type.fields.get(name)
    if (field === undefined ? !type.keepsUnknown : !isKnown(field, value[name], depth + 1)) return false
  }
  return true
}

const mayHoldFields = (type: KubernetesType | undefined): boolean =>
  type?.kind === "object" || type?.kind === "list" || type?.kind === "map"

/**
 * What strict field validation objects to: fields that occur twice in the text, then fields that do not exist, in alphabetical order. At most
 * {@link maximumProblems}; with `fieldValidation=Warn` each is one warning.
 *
 * @param value the parsed text, not pruned yet
 */
export const strictFieldProblems = (type: KubernetesType, text: string, value: unknown): string[] => {
  const unknown = unknownFields(type, value).map((path) => `unknown field ${JSON.stringify(path)}`)
  unknown.sort()
  const read = schemaNameOf(type) === undefined ? undefined : type
  return [...duplicateFields(text, read), ...unknown].slice(0, maximumProblems)
}

/**
 * Why an object of a built-in kind cannot be decoded, or `undefined` when it can. For custom kinds only the metadata
 * is decoded; the rest is left to their schema.
 */
export const undecodable = (type: KubernetesType, value: unknown): string | undefined => {
  const metadata = schemaNameOf(type) === undefined && isRecord(value) ? type.fields.get("metadata") : undefined
  return metadata !== undefined && isRecord(value)
    ? decodeProblem(metadata, memberOf(value, "metadata"), "metadata")
    : decodeProblem(type, value)
}
