/** Methods of lists, sets, and optional values. */

import { areEqual } from "../equality.ts"
import type { Meter } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Duration, int64, List, Optional, sizeOf, Uint, type Value } from "../values.ts"
import { compared } from "./operators.ts"

const comparable = ["int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes"]
const summable = ["int", "uint", "double", "duration"]

/** One reading of the list, as deep as it goes. */
const traversal = ([value]: ReadonlyArray<Value>): number => traversed(value ?? null)

const traversed = (value: Value): number => {
  if (value instanceof List) return value.items.reduce((sum: number, item) => sum + traversed(item), 0)
  return typeof value === "string" || value instanceof Uint8Array ? Math.ceil(sizeOf(value) * 0.1) : 1
}

const extreme = (name: string, { items }: List, sign: 1 | -1): Value => {
  const [first, ...rest] = items
  if (first === undefined) return fail(`${name} called on empty list`)
  return rest.reduce((best, item) => (compared(item, best) * sign > 0 ? item : best), first)
}

const isSorted = ({ items }: List): boolean =>
  items.every((item, index) => index === 0 || compared(items[index - 1] ?? null, item) <= 0)

const sum = ({ items }: List, zero: Value): Value =>
  items.reduce((total: Value, item) => {
    if (typeof total === "bigint" && typeof item === "bigint") return int64(total + item)
    if (typeof total === "number" && typeof item === "number") return total + item
    if (total instanceof Uint && item instanceof Uint) return new Uint(total.value + item.value)
    if (total instanceof Duration && item instanceof Duration) return new Duration(total.nanoseconds + item.nanoseconds)
    return fail("no such overload")
  }, zero)

const zeros: Readonly<Record<string, Value>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new Duration(0n),
}

const product = ([left, right]: ReadonlyArray<Value>): number => Math.max(sizeOf(left) * sizeOf(right), 1)

const includes = ({ items }: List, item: Value, meter: Meter): boolean =>
  items.some((other) => areEqual(item, other, meter))

const isSubset = (part: List, whole: List, meter: Meter): boolean =>
  part.items.every((item) => includes(whole, item, meter))

export const lists: ReadonlyArray<Overload> = [
  ...comparable.flatMap((type) => [
    overload<[List]>(`list(${type})::isSorted() -> bool`, ([list]) => isSorted(list), traversal),
    overload<[List]>(`list(${type})::max() -> ${type}`, ([list]) => extreme("max", list, 1), traversal),
    overload<[List]>(`list(${type})::min() -> ${type}`, ([list]) => extreme("min", list, -1), traversal),
  ]),
  ...summable.map((type) =>
    overload<[List]>(
      `list(${type})::sum() -> ${type}`,
      ([list]) => sum(list, list.items.length === 0 ? (zeros[type] ?? 0n) : zeroLike(list.items[0] ?? null)),
      traversal,
    ),
  ),
  overload<[List, Value]>(
    "list(A)::indexOf(A) -> int",
    ([{ items }, item], meter) => BigInt(items.findIndex((other) => areEqual(item, other, meter))),
    traversal,
  ),
  overload<[List, Value]>(
    "list(A)::lastIndexOf(A) -> int",
    ([{ items }, item], meter) => BigInt(items.findLastIndex((other) => areEqual(item, other, meter))),
    traversal,
  ),
]

/** At run time every overload of `sum` gets every list, because lists do not know the type of their items. */
const zeroLike = (item: Value): Value => {
  if (typeof item === "number") return 0
  if (item instanceof Uint) return new Uint(0n)
  return item instanceof Duration ? new Duration(0n) : 0n
}

export const sets: ReadonlyArray<Overload> = [
  overload<[List, List]>(
    "sets.contains(list(A), list(A)) -> bool",
    ([whole, part], meter) => isSubset(part, whole, meter),
    product,
  ),
  overload<[List, List]>(
    "sets.equivalent(list(A), list(A)) -> bool",
    ([left, right], meter) => isSubset(left, right, meter) && isSubset(right, left, meter),
    product,
  ),
  overload<[List, List]>(
    "sets.intersects(list(A), list(A)) -> bool",
    ([left, right], meter) => left.items.some((item) => includes(right, item, meter)),
    product,
  ),
]

/** Whether a value is the zero of its type. */
const isZero = (value: Value): boolean =>
  value === null ||
  value === false ||
  value === 0n ||
  value === 0 ||
  (sizeOf(value) === 0 && typeof value !== "boolean")

export const optionals: ReadonlyArray<Overload> = [
  overload("optional.none() -> optional(A)", () => new Optional(undefined)),
  overload<[Value]>("optional.of(A) -> optional(A)", ([value]) => new Optional(value)),
  overload<[Value]>(
    "optional.ofNonZeroValue(A) -> optional(A)",
    ([value]) => new Optional(isZero(value) ? undefined : value),
  ),
  overload<[Optional]>("optional(A)::hasValue() -> bool", ([optional]) => optional.value !== undefined),
  overload<[Optional]>("optional(A)::value() -> A", ([optional]) => optional.value ?? noValue(optional)),
  overload<[Optional, Optional]>("optional(A)::or(optional(A)) -> optional(A)", ([optional, other]) =>
    optional.value === undefined ? other : optional,
  ),
  overload<[Optional, Value]>("optional(A)::orValue(A) -> A", ([optional, other]) =>
    optional.value === undefined ? other : optional.value,
  ),
]

/** Null is a value. */
const noValue = ({ value }: Optional): Value => (value === undefined ? fail("optional.none() dereference") : value)
