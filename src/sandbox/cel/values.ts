/**
 * Values of expressions: those of the library (numbers are `bigint` or `number`, times `Date`), maps, lists, objects of schemas, and
 * Kubernetes' own types. Values are equal as Kubernetes compares them: numbers whatever their type, sets in any order, keyed lists by key.
 */

import { createRequire } from "node:module"
import type { Optional } from "@marcbachmann/cel-js"
import type { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator"
import { isRecord } from "../../is-record.ts"
import { memberOf } from "../../own-member.ts"
import { fail, step } from "./evaluation.ts"

export type Value = string | bigint | number | boolean | null | object

type Library = typeof import("@marcbachmann/cel-js") & typeof import("@marcbachmann/cel-js/evaluator")
let loaded: Library | undefined

const load = (): Library => {
  const require = createRequire(import.meta.url)
  return { ...require("@marcbachmann/cel-js"), ...require("@marcbachmann/cel-js/evaluator") }
}

/** Loaded with the first expression: it takes 9 MB and 28 ms, and most clusters never need it. */
export const library = (): Library => {
  loaded ??= load()
  return loaded
}

/** Without a value for `undefined`. */
export const optionalOf = (value: Value | undefined): Optional => library().Optional.of(value)

/** The library's, with what it holds here. */
interface OptionalValue extends Optional {
  value(): Value
}

export const isOptional = (value: Value): value is OptionalValue => value instanceof library().Optional
export const isDuration = (value: Value): value is Duration => value instanceof library().Duration
export const isUnsigned = (value: Value): value is UnsignedInt => value instanceof library().UnsignedInt

/** A value with methods only. `data` belongs to the functions of its type; `identity` is equal for equal values. */
export class Opaque<Data = unknown> {
  readonly identity: string
  readonly data: Data

  constructor(identity: string, data: Data) {
    this.identity = identity
    this.data = data
  }
}

export interface ObjectField {
  /** In JSON, where it may have characters that names in expressions have not. */
  readonly name: string
  readonly convert: (json: unknown) => Value
}

/** An object with declared fields, converted as far as expressions read them. Fields without a declaration can only be compared. */
export class ObjectValue extends Map<string, Value> {
  readonly #json: Readonly<Record<string, unknown>>
  readonly #fields: ReadonlyMap<string, ObjectField>

  constructor(json: Readonly<Record<string, unknown>>, fields: ReadonlyMap<string, ObjectField>) {
    super()
    this.#json = json
    this.#fields = fields
  }

  override get(key: string): Value | undefined {
    const known = super.get(key)
    if (known !== undefined) return known
    const field = this.#fields.get(key)
    const json = memberOf(this.#json, field?.name ?? key)
    if (json === undefined) return undefined
    const value = field === undefined ? dynamicValue(json) : field.convert(json)
    this.set(key, value)
    return value
  }

  // What a Map does by itself would only know the fields that have been read.

  override get size(): number {
    return Object.values(this.#json).filter((json) => json !== undefined).length
  }

  override has(key: string): boolean {
    return this.get(key) !== undefined
  }

  override *entries(): MapIterator<[string, Value]> {
    const declared = new Map([...this.#fields].map(([key, { name }]) => [name, key]))
    for (const name of Object.keys(this.#json)) {
      const key = declared.get(name) ?? name
      const value = this.get(key)
      if (value !== undefined) yield [key, value]
    }
  }

  override *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  override *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value
  }

  override [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries()
  }
}

/** JSON without a schema, as `object` in the conditions of webhooks. */
export const dynamicValue = (json: unknown): Value => {
  if (Array.isArray(json)) return json.map(dynamicValue)
  if (isRecord(json)) {
    const members = Object.entries(json).filter(([, member]) => member !== undefined)
    return new Map(members.map(([key, member]) => [key, dynamicValue(member)]))
  }
  if (typeof json === "number") return Number.isSafeInteger(json) ? BigInt(json) : json
  return typeof json === "string" || typeof json === "boolean" ? json : null
}

/** The keys by which items of a list are told apart: none for sets. Lists that are not in here go by position. */
const itemKeys = new WeakMap<ReadonlyArray<Value>, ReadonlyArray<string>>()

/** Makes the list a set (no keys), or one whose items have keys. */
export const keyedBy = (list: ReadonlyArray<Value>, keys: ReadonlyArray<string>): ReadonlyArray<Value> => {
  itemKeys.set(list, keys)
  return list
}

/** A number of any type, comparable with JavaScript's operators but `===`. */
export const numberOf = (value: Value): bigint | number | undefined => {
  if (typeof value === "bigint" || typeof value === "number") return value
  return isUnsigned(value) ? value.value : undefined
}

export const areEqual = (left: Value, right: Value): boolean => {
  step()
  if (left === right) return true
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    const [one, other] = [numberOf(left), numberOf(right)]
    return one !== undefined && other !== undefined && one <= other && one >= other
  }
  if (Array.isArray(left)) return Array.isArray(right) && equalLists(left, right)
  if (left instanceof Map) return right instanceof Map && equalMaps(membersOf(left), membersOf(right))
  if (left instanceof Opaque)
    return right instanceof Opaque && left.constructor === right.constructor && left.identity === right.identity
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0
  if (isOptional(left))
    return (
      isOptional(right) &&
      left.hasValue() === right.hasValue() &&
      (!left.hasValue() || areEqual(left.value(), right.value()))
    )
  // Times, durations and unsigned integers have a value of their own; types have not.
  return left.constructor === right.constructor && left.valueOf() !== left && left.valueOf() === right.valueOf()
}

/** Objects have their members once these are looped over. */
const membersOf = (map: ReadonlyMap<Value, Value>): ReadonlyMap<Value, Value> =>
  map.constructor === Map ? map : new Map([...map].filter(([, value]) => value !== undefined))

const equalMaps = (left: ReadonlyMap<Value, Value>, right: ReadonlyMap<Value, Value>): boolean =>
  left.size === right.size &&
  [...left].every(([key, value]) => {
    const other = right.get(key)
    return other !== undefined && areEqual(value, other)
  })

const equalLists = (left: ReadonlyArray<Value>, right: ReadonlyArray<Value>): boolean => {
  if (left.length !== right.length) return false
  const keys = itemKeys.get(left)
  if (keys === undefined) return left.every((item, index) => areEqual(item, right[index] ?? null))
  const known = new Map(left.map((item) => [itemKey(item, keys), item]))
  return right.every((item) => {
    const other = known.get(itemKey(item, keys))
    return other !== undefined && areEqual(other, item)
  })
}

/** A text by which items of sets and keyed lists are found: the schema says that these are scalars. */
const itemKey = (item: Value, keys: ReadonlyArray<string>): string => {
  step()
  if (keys.length === 0 || !(item instanceof Map)) return scalarText(item)
  return JSON.stringify(keys.map((key) => scalarText(item.get(key) ?? null)))
}

const scalarText = (value: Value): string => {
  const number = numberOf(value)
  return number === undefined ? `${typeof value} ${String(value)}` : `number ${number}`
}

/** `left + right`: sets keep each item once, keyed lists take the right one's items for keys that both have. */
export const concatenated = (left: ReadonlyArray<Value>, right: ReadonlyArray<Value>): ReadonlyArray<Value> => {
  step(left.length + right.length)
  const keys = itemKeys.get(left)
  if (keys === undefined) return [...left, ...right]
  const merged = new Map([...left, ...right].map((item) => [itemKey(item, keys), item]))
  return keyedBy([...merged.values()], keys)
}

/** Negative, zero or positive, for values of one comparable type. Throws EvaluationError for others. */
export const compared = (left: Value, right: Value): number => {
  const [one, other] = [ordered(left), ordered(right)]
  if ((typeof one === "string") !== (typeof other === "string")) return fail("no such overload")
  return one < other ? -1 : one > other ? 1 : 0
}

const ordered = (value: Value): string | number | bigint => {
  if (typeof value === "string") return value
  if (typeof value === "boolean") return Number(value)
  if (value instanceof Date) return value.getTime()
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex")
  return numberOf(value) ?? (isDuration(value) ? value.valueOf() : fail("no such overload"))
}
