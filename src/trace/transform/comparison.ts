/**
 * How values compare. Numbers are equal if they are the same number, however written (`1` and `1.0`); all else as JSON. The order is that of numbers; of
 * quantities, which are texts such as `500m` and `1Gi`, also beside numbers; and of other texts by their characters, so that times of the same form are
 * in their order. Values of different sorts have no order.
 */
import { quantityOf } from "../../kube/quantity.ts"
import { IntegralFloat, isJsonObject, type JsonValue } from "../json/exact-json.ts"
import type { Comparison } from "./language/program.ts"

/** Whether they are equal. */
export const isSame = (one: JsonValue, other: JsonValue): boolean => {
  if (one === other) return true
  const [first, second] = [numberOf(one), numberOf(other)]
  // Not ===, because one may be a bigint.
  // biome-ignore lint/suspicious/noDoubleEquals: 2n == 2, and neither is anything but a number here
  if (first !== undefined || second !== undefined) return first == second
  if (Array.isArray(one))
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSame(item, other[index] as JsonValue))
    )
  if (!isJsonObject(one) || !isJsonObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key] as JsonValue, other[key] as JsonValue))
  )
}

const numberOf = (value: JsonValue): number | bigint | undefined => {
  if (value instanceof IntegralFloat) return value.value
  return typeof value === "number" || typeof value === "bigint" ? value : undefined
}

/** Whether `one` is in that relation to `other`. */
export const isOrdered = (one: JsonValue, operator: Exclude<Comparison, "==" | "!=">, other: JsonValue): boolean => {
  const [first, second] = comparable(one, other)
  if (first === undefined || second === undefined) return false
  switch (operator) {
    case "<":
      return first < second
    case "<=":
      return first <= second
    case ">":
      return first > second
    case ">=":
      return first >= second
  }
}

type Comparable = number | bigint | string | undefined

const comparable = (one: JsonValue, other: JsonValue): readonly [Comparable, Comparable] => {
  const [first, second] = [amountOf(one), amountOf(other)]
  if (first !== undefined && second !== undefined) return [first, second]
  return typeof one === "string" && typeof other === "string" ? [one, other] : [undefined, undefined]
}

const amountOf = (value: JsonValue): number | bigint | undefined =>
  typeof value === "string" ? quantityOf(value) : numberOf(value)
