/**
 * The values of CEL expressions. Integers are `bigint`, doubles `number`. Lists and maps may be views of a JSON document that convert
 * what an expression reads and nothing else.
 */

import { fail } from "./problems.ts"

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint8Array
  | Uint
  | List
  | Mapping
  | Timestamp
  | Duration
  | Optional
  | TypeName
  | Opaque

/** An unsigned integer. */
export class Uint {
  readonly value: bigint

  constructor(value: bigint) {
    if (value < 0n || value > 0xffff_ffff_ffff_ffffn) fail("unsigned integer overflow")
    this.value = value
  }
}

/** How items of a list are told apart: by position, by value (`set`), or by some of their fields (`map`). */
export type ListIdentity =
  | { readonly type: "position" }
  | { readonly type: "value" }
  | { readonly type: "keys"; readonly keys: ReadonlyArray<string> }

export const byPosition: ListIdentity = { type: "position" }

export class List {
  readonly items: ReadonlyArray<Value>
  readonly identity: ListIdentity

  constructor(items: ReadonlyArray<Value>, identity: ListIdentity = byPosition) {
    this.items = items
    this.identity = identity
  }
}

/** A map, or an object with fields. Keys of one numeric value are one key whatever their type. */
export class Mapping {
  readonly #read: (key: string) => Value | undefined
  readonly #known = new Map<string, Value | undefined>()
  /** In the order of the document. */
  readonly keys: ReadonlyArray<Value>

  /** `read` takes the {@link mapKey} of a key and is asked once for each. */
  constructor(keys: ReadonlyArray<Value>, read: (key: string) => Value | undefined) {
    this.keys = keys
    this.#read = read
  }

  static of(entries: ReadonlyMap<Value, Value>): Mapping {
    const byKey = new Map([...entries].map(([key, value]) => [mapKey(key), value]))
    return new Mapping([...entries.keys()], (key) => byKey.get(key))
  }

  get size(): number {
    return this.keys.length
  }

  get(key: Value): Value | undefined {
    const text = mapKey(key)
    if (this.#known.has(text)) return this.#known.get(text)
    const value = this.#read(text)
    this.#known.set(text, value)
    return value
  }
}

/** Equal keys have equal texts: `s` and the text, or `n` and the number. */
const mapKey = (key: Value): string => {
  if (typeof key === "string") return `s${key}`
  if (typeof key === "bigint" || (typeof key === "number" && Number.isInteger(key))) return `n${BigInt(key)}`
  if (key instanceof Uint) return `n${key.value}`
  if (typeof key === "boolean") return `b${key}`
  return fail(`unsupported key type: ${typeNameOf(key)}`)
}

/** In nanoseconds since 1970. */
export class Timestamp {
  readonly nanoseconds: bigint

  constructor(nanoseconds: bigint) {
    if (nanoseconds < firstTime || nanoseconds > lastTime) fail("timestamp overflow")
    this.nanoseconds = nanoseconds
  }
}

/** The years 1 to 9999, as in protobuf. */
const firstTime = -62_135_596_800n * 1_000_000_000n
const lastTime = 253_402_300_800n * 1_000_000_000n - 1n

export class Duration {
  readonly nanoseconds: bigint

  constructor(nanoseconds: bigint) {
    if (BigInt.asIntN(64, nanoseconds) !== nanoseconds) fail("duration overflow")
    this.nanoseconds = nanoseconds
  }
}

export class Optional {
  readonly value: Value | undefined

  constructor(value: Value | undefined) {
    this.value = value
  }
}

/** What `type()` returns. */
export class TypeName {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** A value with methods only. `data` belongs to the functions of its type; `identity` is equal for equal values. */
export class Opaque<Data = unknown> {
  readonly type: string
  readonly identity: string
  readonly data: Data

  constructor(type: string, identity: string, data: Data) {
    this.type = type
    this.identity = identity
    this.data = data
  }
}

/** As `type()` and messages name it. */
export const typeNameOf = (value: Value): string => {
  if (value === null) return "null_type"
  if (typeof value === "bigint") return "int"
  if (typeof value === "number") return "double"
  if (typeof value === "boolean") return "bool"
  if (typeof value === "string") return "string"
  if (value instanceof Uint8Array) return "bytes"
  if (value instanceof Uint) return "uint"
  if (value instanceof List) return "list"
  if (value instanceof Mapping) return "map"
  if (value instanceof Timestamp) return "google.protobuf.Timestamp"
  if (value instanceof Duration) return "google.protobuf.Duration"
  if (value instanceof Optional) return "optional_type"
  return value instanceof TypeName ? "type" : value.type
}

/** The length in characters, items or entries; 1 for all others. The unit of what operations cost. */
export const sizeOf = (value: Value | undefined): number => {
  if (typeof value === "string") return characterCount(value)
  if (value instanceof Uint8Array) return value.length
  if (value instanceof List) return value.items.length
  if (value instanceof Mapping) return value.size
  return value instanceof Optional && value.value !== undefined ? sizeOf(value.value) : 1
}

const surrogate = /[\ud800-\udbff]/

/** Unicode characters, of which some take two of JavaScript's. */
const characterCount = (text: string): number => (surrogate.test(text) ? [...text].length : text.length)

/** Throws for a result that does not fit 64 bits. */
export const int64 = (value: bigint): bigint => (BigInt.asIntN(64, value) === value ? value : fail("integer overflow"))
