/**
 * When values are equal: numbers by value whatever their type, lists as their schema says (sets whatever the order, keyed lists by key),
 * values of different kinds never.
 */

import type { Meter } from "./meter.ts"
import {
  Duration,
  List,
  type ListIdentity,
  Mapping,
  Opaque,
  Optional,
  Timestamp,
  TypeName,
  Uint,
  type Value,
} from "./values.ts"

export const areEqual = (left: Value, right: Value, meter: Meter): boolean => {
  meter.step()
  const numbers = bothNumbers(left, right)
  // Unlike `===`, `<=` compares a bigint and a number by value.
  if (numbers !== undefined) return numbers[0] <= numbers[1] && numbers[0] >= numbers[1]
  if (left instanceof List && right instanceof List) return equalLists(left, right, meter)
  if (left instanceof Mapping && right instanceof Mapping) return equalMaps(left, right, meter)
  if (left instanceof Timestamp && right instanceof Timestamp) return left.nanoseconds === right.nanoseconds
  if (left instanceof Duration && right instanceof Duration) return left.nanoseconds === right.nanoseconds
  if (left instanceof TypeName && right instanceof TypeName) return left.name === right.name
  if (left instanceof Opaque && right instanceof Opaque)
    return left.type === right.type && left.identity === right.identity
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right) === 0
  if (left instanceof Optional && right instanceof Optional) {
    if (left.value === undefined || right.value === undefined) return left.value === right.value
    return areEqual(left.value, right.value, meter)
  }
  return left === right
}

/** Two numbers of any types, comparable with JavaScript's operators. */
export const bothNumbers = (left: Value, right: Value): readonly [bigint | number, bigint | number] | undefined => {
  const [one, other] = [numberOf(left), numberOf(right)]
  return one === undefined || other === undefined ? undefined : [one, other]
}

const numberOf = (value: Value): bigint | number | undefined => {
  if (typeof value === "bigint" || typeof value === "number") return value
  return value instanceof Uint ? value.value : undefined
}

const equalLists = (left: List, right: List, meter: Meter): boolean => {
  if (left.items.length !== right.items.length) return false
  const { identity } = left
  if (identity.type === "position")
    return left.items.every((item, index) => areEqual(item, right.items[index] ?? null, meter))
  const known = new Map(left.items.map((item) => [itemKey(item, identity, meter), item]))
  return right.items.every((item) => {
    const other = known.get(itemKey(item, identity, meter))
    return other !== undefined && areEqual(other, item, meter)
  })
}

const equalMaps = (left: Mapping, right: Mapping, meter: Meter): boolean =>
  left.size === right.size &&
  left.keys.every((key) => {
    const [one, other] = [left.get(key), right.get(key)]
    return one !== undefined && other !== undefined && areEqual(one, other, meter)
  })

/** A text by which items of sets and keyed lists are found; equal for items that stand for each other. */
const itemKey = (item: Value, identity: ListIdentity, meter: Meter): string => {
  meter.step()
  if (identity.type === "keys" && item instanceof Mapping)
    return JSON.stringify(identity.keys.map((key) => scalarText(item.get(key) ?? null)))
  return scalarText(item)
}

/** Items of sets and keys of lists are scalars: the schema says so. */
const scalarText = (value: Value): string => {
  const number = numberOf(value)
  return number === undefined ? `${typeof value} ${String(value)}` : `number ${number}`
}

/** `left + right`: sets keep each item once, keyed lists take the right one's items for keys that both have. */
export const concatenated = (left: List, right: List, meter: Meter): List => {
  const { identity } = left
  meter.step(left.items.length + right.items.length)
  if (identity.type === "position") return new List([...left.items, ...right.items])
  const merged = new Map(left.items.map((item) => [itemKey(item, identity, meter), item]))
  for (const item of right.items) {
    const key = itemKey(item, identity, meter)
    if (identity.type === "keys" || !merged.has(key)) merged.set(key, item)
  }
  return new List([...merged.values()], identity)
}
