/** Values walked along their types. Clients choose how deep they are, so a walk does not recurse beyond a fixed depth. */

import { isRecord } from "../../is-record.ts"
import type { KubernetesType } from "./kubernetes-type.ts"

interface TypedValue {
  readonly type: KubernetesType
  readonly value: unknown
  /** The value that holds it; `undefined` at the root. Only a problem pays for the text of a path. */
  readonly holder: TypedValue | undefined
  /** A field's name or a list index; empty at the root. */
  readonly step: string | number
}

/** A path as the server writes it: `spec.containers[0].name`. */
export const formatSteps = (steps: Iterable<string | number>): string => {
  let text = ""
  for (const step of steps) text += typeof step === "number" ? `[${step}]` : text === "" ? step : `.${step}`
  return text
}

/** Of a value, or of a member of it. */
export const pathOf = (at: TypedValue, ...member: ReadonlyArray<string>): string => {
  const steps: Array<string | number> = [...member]
  for (let one: TypedValue | undefined = at; one !== undefined; one = one.holder)
    if (one.step !== "") steps.unshift(one.step)
  return formatSteps(steps)
}

/** Whether the members of values of a type are visited. */
type GoesInto = (type: KubernetesType) => boolean

/** Visits values in the order of the document, without fields that their types do not have, until the visitor returns false. */
export const visitTyped = (root: TypedValue, goesInto: GoesInto, visit: (at: TypedValue) => boolean): void => {
  const waiting = [root]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (!visit(at)) return
    if (goesInto(at.type)) for (const member of membersOf(at).reverse()) waiting.push(member)
  }
}

const membersOf = (holder: TypedValue): TypedValue[] => {
  const { type, value } = holder
  const { items } = type
  if (Array.isArray(value)) {
    if (type.kind !== "list" || items === undefined) return []
    return value.map((item: unknown, step) => ({ type: items, value: item, holder, step }))
  }
  if (!isRecord(value) || (type.kind !== "map" && type.kind !== "object")) return []
  return Object.keys(value).flatMap((step) => {
    const field = type.kind === "map" ? items : type.fields.get(step)
    return field === undefined ? [] : [{ type: field, value: value[step], holder, step }]
  })
}

/** {@link everyTyped} stops at this depth to protect the stack. No real object is nearly as deep. */
const quickDepth = 200

/** Whether all values are right: the first pass over an object, which allocates nothing. False also for values that are too deep. */
export const everyTyped = (
  type: KubernetesType,
  value: unknown,
  goesInto: GoesInto,
  isRight: (type: KubernetesType, value: unknown) => boolean,
  depth = 0,
): boolean => {
  if (depth > quickDepth || !isRight(type, value)) return false
  if (typeof value !== "object" || value === null || !goesInto(type)) return true
  const { items } = type
  if (Array.isArray(value)) {
    if (type.kind !== "list" || items === undefined) return true
    return value.every((item) => everyTyped(items, item, goesInto, isRight, depth + 1))
  }
  if (!isRecord(value) || (type.kind !== "map" && type.kind !== "object")) return true
  for (const name of Object.keys(value)) {
    const field = type.kind === "map" ? items : type.fields.get(name)
    if (field !== undefined && !everyTyped(field, value[name], goesInto, isRight, depth + 1)) return false
  }
  return true
}
