/**
 * Wrong JSON types as the server reports them: it decodes built-in kinds into Go values, and what does not fit is
 * `json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`. Like Go's decoder this
 * reports the first misfit in the order of the object, and takes null everywhere.
 *
 * Not the same: a whole number written as `1e3` or `2.0` is refused by Go and taken here (the parsed object does not show
 * it), and integers beyond 2^53 are compared after rounding.
 */

import { type FieldPath, formatFieldPath } from "./field-path.ts"
import { base64Problem, microTimeProblem, quantityProblem, timeProblem } from "./go-parsers.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { goTypeOf, isRecord } from "./make-type.ts"

interface Visit {
  readonly type: KubernetesType
  readonly value: unknown
  /** Names of fields only: Go's message knows neither list indexes nor map keys. */
  readonly path: FieldPath | undefined
  /** The innermost Go struct around the value, without its package. */
  readonly struct: string
}

/** The first misfit, or `undefined`. Types without a Go type (custom kinds) fit everything. */
export const decodeProblem = (type: KubernetesType, value: unknown): string | undefined =>
  fits(type, value, 0) ? undefined : firstMisfit(type, value)

/** Beyond this depth the quick look gives up, for the sake of the stack. No object of a user is nearly as deep. */
const quickDepth = 200

/** Nearly every object fits, so this pass comes first: it looks at all values and makes nothing. */
const fits = (type: KubernetesType, value: unknown, depth: number): boolean => {
  if (value === null || value === undefined || goTypeOf(type) === undefined) return true
  if (depth > quickDepth) return false
  const { items } = type
  switch (type.kind) {
    case "any":
      return true
    case "object": {
      if (type.keepsUnknown) return true
      if (!isRecord(value)) return false
      for (const name of Object.keys(value)) {
        const field = type.fields.get(name)
        if (field !== undefined && !fits(field, value[name], depth + 1)) return false
      }
      return true
    }
    case "map":
      if (!isRecord(value)) return false
      for (const name of Object.keys(value))
        if (items !== undefined && !fits(items, value[name], depth + 1)) return false
      return true
    case "list":
      return Array.isArray(value) && value.every((item) => items === undefined || fits(items, item, depth + 1))
    default:
      return misfit({ type, value, path: undefined, struct: "" }) === undefined
  }
}

const firstMisfit = (type: KubernetesType, value: unknown): string | undefined => {
  const visits: Visit[] = [{ type, value, path: undefined, struct: "" }]
  for (let visit = visits.pop(); visit !== undefined; visit = visits.pop()) {
    if (visit.value === null || visit.value === undefined || goTypeOf(visit.type) === undefined) continue
    const problem = misfit(visit)
    if (problem !== undefined) return problem
    for (const child of childrenOf(visit).reverse()) visits.push(child)
  }
  return undefined
}

const childrenOf = ({ type, value, path, struct }: Visit): Visit[] => {
  const children: Visit[] = []
  const { items } = type
  if (Array.isArray(value)) {
    if (type.kind === "list" && items !== undefined)
      for (const item of value) children.push({ type: items, value: item, path, struct })
  } else if (isRecord(value) && type.kind === "map" && items !== undefined) {
    for (const item of Object.values(value)) children.push({ type: items, value: item, path, struct })
  } else if (isRecord(value) && type.kind === "object") {
    const inner = structName(type)
    for (const [step, item] of Object.entries(value)) {
      const field = type.fields.get(step)
      if (field !== undefined) children.push({ type: field, value: item, path: { parent: path, step }, struct: inner })
    }
  }
  return children
}

const structName = (type: KubernetesType): string => (goTypeOf(type) ?? "").replace(/^.*\./, "")

const misfit = (visit: Visit): string | undefined => {
  const { type, value } = visit
  const goType = goTypeOf(type) ?? ""
  switch (type.kind) {
    case "any":
      return undefined
    case "object":
      // Their bytes are kept as they are.
      if (type.keepsUnknown || isRecord(value)) return undefined
      return cannotUnmarshal(visit, goType)
    case "map":
      return isRecord(value) ? undefined : cannotUnmarshal(visit, goType)
    case "list":
      return Array.isArray(value) ? undefined : cannotUnmarshal(visit, goType)
    case "boolean":
      return typeof value === "boolean" ? undefined : cannotUnmarshal(visit, goType)
    case "number":
      return typeof value === "number" ? undefined : cannotUnmarshal(visit, goType)
    case "integer":
      return isInteger(value, goType) ? undefined : cannotUnmarshal(visit, goType)
    case "int-or-string":
      if (goType.endsWith("Quantity")) return quantityProblem(value)
      return typeof value === "string" || isInteger(value, "int32") ? undefined : cannotUnmarshal(visit, "int32")
    case "string":
      return stringMisfit(visit, goType)
  }
}

const stringMisfit = (visit: Visit, goType: string): string | undefined => {
  const { value } = visit
  const isTime = goType === "v1.Time" || goType === "v1.MicroTime"
  if (typeof value !== "string") return cannotUnmarshal(visit, isTime ? "string" : goType)
  if (goType === "v1.Time") return timeProblem(value)
  if (goType === "v1.MicroTime") return microTimeProblem(value)
  return goType === "[]uint8" ? base64Problem(value) : undefined
}

const limits: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
}

const isInteger = (value: unknown, goType: string): boolean => {
  if (typeof value !== "number" || !Number.isInteger(value)) return false
  const [least, most] = limits[goType] ?? [-Infinity, Infinity]
  return value >= least && value <= most
}

const cannotUnmarshal = ({ type, value, path, struct }: Visit, goType: string): string => {
  const isNumeric = type.kind === "integer" || type.kind === "number" || type.kind === "int-or-string"
  const found = jsonTypeName(value)
  const what = found === "number" && isNumeric ? `number ${String(value)}` : found
  if (path === undefined) return `json: cannot unmarshal ${what} into Go value of type ${goType}`
  return `json: cannot unmarshal ${what} into Go struct field ${struct}.${formatFieldPath(path)} of type ${goType}`
}

const jsonTypeName = (value: unknown): string => {
  if (Array.isArray(value)) return "array"
  if (isRecord(value)) return "object"
  return typeof value === "boolean" ? "bool" : typeof value
}
