/**
 * Checks objects against their type: finds or removes unknown fields, and reports the errors of strict field validation.
 *
 * No recursion beyond a fixed depth; linear in the size of the object. Nothing throws, whatever the JSON.
 */

import { isRecord } from "../../is-record.ts"
import { memberOf } from "../../own-member.ts"
import { decodeProblem } from "./decode-problem.ts"
import { duplicateFields, maximumProblems } from "./duplicate-fields.ts"
import { type KubernetesType, schemaNameOf } from "./kubernetes-type.ts"
import { everyTyped, pathOf, visitTyped } from "./typed-value.ts"

/** Paths of the fields that `type` does not have: `spec.containers[0].foo`. */
export const unknownFields = (type: KubernetesType, value: unknown): string[] =>
  visitUnknown(type, value, () => undefined)

/**
 * Removes the fields that `type` does not have, in place, and returns their paths like {@link unknownFields}. The
 * server does this to every object it stores, with any `fieldValidation`.
 */
export const pruneUnknownFields = (type: KubernetesType, value: unknown): string[] =>
  visitUnknown(type, value, (holder, key) => delete holder[key])

const visitUnknown = (
  type: KubernetesType,
  value: unknown,
  found: (holder: Record<string, unknown>, key: string) => void,
): string[] => {
  const unknown: string[] = []
  if (everyTyped(type, value, mayHoldFields, hasKnownFields)) return unknown
  visitTyped({ type, value, holder: undefined, step: "" }, mayHoldFields, (at) => {
    if (at.type.kind === "object" && !at.type.keepsUnknown && isRecord(at.value))
      for (const key of Object.keys(at.value)) {
        if (at.type.fields.has(key)) continue
        unknown.push(pathOf(at, key))
        found(at.value, key)
      }
    return true
  })
  return unknown
}

const hasKnownFields = (type: KubernetesType, value: unknown): boolean => {
  if (type.kind !== "object" || type.keepsUnknown || !isRecord(value)) return true
  for (const name of Object.keys(value)) if (!type.fields.has(name)) return false
  return true
}

const mayHoldFields = ({ kind, items }: KubernetesType): boolean =>
  kind === "object" || ((kind === "list" || kind === "map") && items !== undefined && mayHoldFields(items))

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
