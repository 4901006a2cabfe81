/**
 * Values of the wrong JSON type: the server decodes built-in kinds into structs and refuses values that do not fit. The
 * first misfit in the order of the object is reported, and null fits everywhere.
 *
 * Differences: a whole number written as `1e3` or `2.0` is refused by the server and accepted here (the parsed object does
 * not show it), and integers beyond 2^53 are compared after rounding.
 */

import { isRecord } from "../../is-record.ts"
import { type KubernetesType, schemaNameOf } from "./kubernetes-type.ts"
import { isBase64, isMicroTime, isQuantity, isTime } from "./text-formats.ts"
import { everyTyped, pathOf, visitTyped } from "./typed-value.ts"

/**
 * The first misfit as `spec.replicas must be int32, not string`, or `undefined`. Types of custom kinds fit everything: their
 * schema judges them. `place` is the field that holds the value, if it is not the object itself.
 */
export const decodeProblem = (type: KubernetesType, value: unknown, place = ""): string | undefined => {
  if (everyTyped(type, value, isDecoded, fitsAlone)) return undefined
  let problem: string | undefined
  visitTyped({ type, value, holder: undefined, step: place }, isDecoded, (at) => {
    if (fitsAlone(at.type, at.value)) return true
    problem = `${pathOf(at) || "the object"} must be ${expected(at.type)}, not ${found(at.value)}`
    return false
  })
  return problem
}

const isDecoded = (type: KubernetesType): boolean => schemaNameOf(type) !== undefined && !type.keepsUnknown

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
