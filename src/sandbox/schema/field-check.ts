/**
 * Objects against their type: fields that do not exist, found or removed, and values of the wrong JSON type.
 *
 * No recursion, so depth is no danger; linear in the size of the object. Whatever JSON comes in, nothing throws.
 */

import { decodeProblem } from "./decode-problem.ts"
import { type FieldPath, formatFieldPath } from "./field-path.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { goTypeOf, isRecord, ownValue } from "./make-type.ts"
import { strictProblems } from "./strict-fields.ts"

interface Visit {
  readonly type: KubernetesType
  readonly value: unknown
  readonly path: FieldPath | undefined
}

/** Paths of the fields that `type` does not have, in the order of the object: `spec.containers[0].foo`. */
export const unknownFields = (type: KubernetesType, value: unknown): string[] =>
  visitUnknown(type, value, (path, key) => formatFieldPath(path, key))

/**
 * Removes the fields that `type` does not have, in place, and tells their paths like {@link unknownFields}. What the
 * server does to every object it stores, `fieldValidation=Ignore` or not.
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
  const visits: Visit[] = [{ type, value, path: undefined }]
  for (let visit = visits.pop(); visit !== undefined; visit = visits.pop()) {
    const { path } = visit
    const children: Visit[] = []
    if (Array.isArray(visit.value) && visit.type.kind === "list" && mayHoldFields(visit.type.items)) {
      const { items } = visit.type
      for (const [step, item] of visit.value.entries())
        if (items !== undefined) children.push({ type: items, value: item, path: { parent: path, step } })
    } else if (isRecord(visit.value) && visit.type.kind === "map" && mayHoldFields(visit.type.items)) {
      const { items } = visit.type
      for (const [step, item] of Object.entries(visit.value))
        if (items !== undefined) children.push({ type: items, value: item, path: { parent: path, step } })
    } else if (isRecord(visit.value) && visit.type.kind === "object") {
      for (const [step, item] of Object.entries(visit.value)) {
        const field = visit.type.fields.get(step)
        if (field === undefined) {
          if (!visit.type.keepsUnknown) unknown.push(found(path, step, visit.value))
        } else if (mayHoldFields(field)) children.push({ type: field, value: item, path: { parent: path, step } })
      }
    }
    for (const child of children.reverse()) visits.push(child)
  }
  return unknown
}

/** Beyond this depth the quick look gives up, for the sake of the stack. No object of a user is nearly as deep. */
const quickDepth = 200

/** Nearly every object has no unknown fields, so this pass comes first: it looks at all of it and makes nothing. */
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
 * What strict field validation objects to, in the server's words and order. Built-in kinds: as in the text. Custom kinds:
 * first what occurs twice, then what does not exist, sorted, its path quoted without escapes (that is how the server
 * builds it). Empty when there is nothing. Joined by `, ` after `strict decoding error: ` they are the server's message;
 * with `fieldValidation=Warn` each is one warning.
 *
 * @param value the parsed text, not pruned yet
 */
export const strictFieldProblems = (type: KubernetesType, text: string, value: unknown): string[] => {
  if (goTypeOf(type) !== undefined) return strictProblems(text, type)
  const unknown = unknownFields(type, value).sort()
  return [...strictProblems(text), ...unknown.map((path) => `unknown field "${path}"`)]
}

/**
 * Why the server cannot decode an object of a built-in kind, as its 400 says it, or `undefined` when it can:
 * `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field
 * DeploymentSpec.spec.replicas of type int32`. Of custom kinds only the metadata is decoded; the rest is refused by their schema, if at all.
 */
export const decodeFailure = (
  gvk: { readonly version: string; readonly kind: string },
  type: KubernetesType,
  value: unknown,
): string | undefined => {
  const metadata = goTypeOf(type) === undefined && isRecord(value) ? type.fields.get("metadata") : undefined
  const problem =
    metadata !== undefined && isRecord(value)
      ? decodeProblem(metadata, ownValue(value, "metadata"))
      : decodeProblem(type, value)
  return problem === undefined ? undefined : cannotBeHandled(gvk, problem)
}

/** The 400 for strict problems; see {@link strictFieldProblems}. */
export const strictFailure = (
  gvk: { readonly version: string; readonly kind: string },
  problems: ReadonlyArray<string>,
): string => cannotBeHandled(gvk, `strict decoding error: ${problems.join(", ")}`)

const cannotBeHandled = ({ version, kind }: { version: string; kind: string }, problem: string): string =>
  `${kind} in version "${version}" cannot be handled as a ${kind}: ${problem}`
