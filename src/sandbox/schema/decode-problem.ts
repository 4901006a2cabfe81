/**
 * Values of the wrong JSON type: the server decodes built-in kinds into structs and refuses values that do not fit. The
 * first misfit in the order of the object is reported, and null fits everywhere.
 *
 * Differences: a whole number written as `1e3` or `2.0` is refused by the server and accepted here (the parsed object does
 * not show it), and integers beyond 2^53 are compared after rounding.
 */

import { isRecord } from "../../is-record.ts"
import { formatFieldPath } from "./field-path.ts"
import type { KubernetesType } from "./kubernetes-type.ts"
import { schemaNameOf } from "./make-type.ts"
import { isBase64, isMicroTime, isQuantity, isTime } from "./text-formats.ts"
import { membersOf, type TypedValue } from "./typed-value.ts"

/**
 * The first misfit as `spec.replicas must be int32, not string`, or `undefined`. Types of custom kinds fit everything: their
 * schema judges them. `place` is the field that holds the value, if it is not the object itself.
 */
export const decodeProblem = (type: KubernetesType, value: unknown, place?: string): string | undefined =>
  fits(type, value, 0) ? undefined : firstMisfit(type, value, place)

/** The quick pass stops at this depth to protect the stack. No real object is nearly as deep. */
const quickDepth = 200

/** Nearly every object fits, so this pass comes first: it checks all values and allocates nothing. */
const fits = (type: KubernetesType, value: unknown, depth: number): boolean => {
  if (depth > quickDepth) return false
  if (!fitsAlone(type, value)) return false
  if (typeof value !== "object" || value === null || schemaNameOf(type) === undefined) return true
  const { items } = type
  if (Array.isArray(value)) return items === undefined || value.every((item) => fits(items, item, depth + 1))
  if (type.kind !== "map" && (type.kind !== "object" || type.keepsUnknown)) return true
  for (const name of Object.keys(value)) {
    const field = type.kind === "map" ? items : type.fields.get(name)
    if (field !== undefined && !fits(field, (value as Record<string, unknown>)[name], depth + 1)) return false
  }
  return true
}

const firstMisfit = (type: KubernetesType, value: unknown, step: string | undefined): string | undefined => {
  const root = step === undefined ? undefined : { parent: undefined, step }
  const waiting: TypedValue[] = [{ type, value, path: root }]
  for (let visit = waiting.pop(); visit !== undefined; visit = waiting.pop()) {
    if (!fitsAlone(visit.type, visit.value)) {
      const place = visit.path === undefined ? "the object" : formatFieldPath(visit.path)
      return `${place} must be ${expected(visit.type)}, not ${found(visit.value)}`
    }
    if (schemaNameOf(visit.type) !== undefined && !visit.type.keepsUnknown)
      for (const member of membersOf(visit).reverse()) waiting.push(member)
  }
  return undefined
}

/** Whether the value itself has the right JSON type, whatever it contains. */
const fitsAlone = (type: KubernetesType, value: unknown): boolean => {
  const name = schemaNameOf(type)
  if (value === null || value === undefined || name === undefined) return true
  switch (type.kind) {
    case "any":
      return true
    case "object":
      // Their bytes are kept as they are.
      return type.keepsUnknown || isRecord(value)
    case "map":
      return isRecord(value)
    case "list":
      return Array.isArray(value)
    case "boolean":
    case "number":
      return typeof value === type.kind
    case "integer":
      return isInteger(value, name)
    case "int-or-string":
      return name.endsWith("Quantity") ? isQuantity(value) : typeof value === "string" || isInteger(value, "int32")
    case "string":
      return typeof value === "string" && (textFormats[name]?.(value) ?? true)
  }
}

const textFormats: Readonly<Record<string, (text: string) => boolean>> = {
  "v1.Time": isTime,
  "v1.MicroTime": isMicroTime,
  byte: isBase64,
}

const limits: Readonly<Record<string, readonly [number, number]>> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
}

const isInteger = (value: unknown, name: string): boolean => {
  if (typeof value !== "number" || !Number.isInteger(value)) return false
  const [least, most] = limits[name] ?? [-Infinity, Infinity]
  return value >= least && value <= most
}

const expected = (type: KubernetesType): string => {
  const name = schemaNameOf(type) ?? ""
  if (name === "byte") return "base64"
  if (textFormats[name] !== undefined || name.endsWith("Quantity")) return name.slice(name.lastIndexOf(".") + 1)
  return type.kind === "integer" ? name : type.kind
}

const found = (value: unknown): string => {
  if (Array.isArray(value)) return "list"
  if (isRecord(value)) return "object"
  return typeof value === "string" || typeof value === "number" ? JSON.stringify(value) : typeof value
}
