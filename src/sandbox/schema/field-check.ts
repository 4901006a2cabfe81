/**
 * Checks objects against their type: finds or removes unknown fields, and reports the errors of strict field validation.
 *
 * No recursion beyond a fixed depth; linear in the size of the object. Nothing throws, whatever the JSON.
 */

import { isRecord } from "../../is-record.ts"
import { decodeProblem } from "./decode-problem.ts"
import { duplicateFields, maximumProblems } from "./duplicate-fields.ts"
import { type FieldPath, formatFieldPath } from "./field-path.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { ownValue, schemaNameOf } from "./make-type.ts"
import { membersOf, type TypedValue } from "./typed-value.ts"

/** Paths of the fields that `type` does not have, in the order of the object: `spec.containers[0].foo`. */
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
  const waiting: Array<TypedValue | UnknownField> = [{ type, value, path: undefined }]
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    if ("holder" in visit) unknown.push(found(visit.path, visit.key, visit.holder))
    else for (const below of belowOf(visit).reverse()) waiting.push(below)
  }
  return unknown
}

interface UnknownField {
  readonly holder: Record<string, unknown>
  readonly key: string
  readonly path: FieldPath | undefined
}

/** In the order of the object: unknown fields, and values that may contain some. */
const belowOf = ({ type, value, path }: TypedValue): Array<TypedValue | UnknownField> => {
  const members = membersOf({ type, value, path }).filter((member) => mayHoldFields(member.type))
  if (type.kind !== "object" || type.keepsUnknown || !isRecord(value)) return members
  const known = new Map(members.map((member) => [member.path?.step, member]))
  return Object.keys(value).flatMap((key): TypedValue | UnknownField | [] => {
    if (!type.fields.has(key)) return { holder: value, key, path }
    return known.get(key) ?? []
  })
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
 * The errors of strict field validation: fields that occur twice in the text, then unknown fields. At most {@link
 * maximumProblems}; with `fieldValidation=Warn` each is one warning.
 *
 * @param value the parsed text, not pruned yet
 */
export const strictFieldProblems = (type: KubernetesType, text: string, value: unknown): string[] => {
  const unknown = unknownFields(type, value).map((path) => `unknown field ${JSON.stringify(path)}`)
  const isCustom = schemaNameOf(type) === undefined
  // The server's order for custom kinds; built-in ones come in the order of the text.
  if (isCustom) unknown.sort()
  return [...duplicateFields(text, isCustom ? undefined : type), ...unknown].slice(0, maximumProblems)
}

/**
 * Why an object of a built-in kind cannot be decoded, or `undefined` when it can. For custom kinds only the metadata
 * is decoded; the rest is left to their schema.
 */
export const undecodable = (type: KubernetesType, value: unknown): string | undefined => {
  const metadata = schemaNameOf(type) === undefined && isRecord(value) ? type.fields.get("metadata") : undefined
  return metadata !== undefined && isRecord(value)
    ? decodeProblem(metadata, ownValue(value, "metadata"), "metadata")
    : decodeProblem(type, value)
}
