/** Operators, and `size()`. The logical ones and `?:` are listed for their types; the evaluation knows them. */

import { areEqual, bothNumbers, concatenated } from "../equality.ts"
import { type Meter, reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Duration, int64, type List, type Mapping, Opaque, sizeOf, Timestamp, Uint, type Value } from "../values.ts"

const shorter = ([left, right]: ReadonlyArray<Value>): number =>
  left instanceof Opaque ? 1 : reading(Math.min(sizeOf(left), sizeOf(right)))

const lazy = (): Value => fail("no such overload")

type Pair = readonly [Value, Value]

/** Negative, zero or positive; both values have types that the signatures allow. */
export const compared = (left: Value, right: Value): number => {
  const numbers = bothNumbers(left, right)
  if (numbers !== undefined) return numbers[0] < numbers[1] ? -1 : numbers[0] > numbers[1] ? 1 : 0
  if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.compare(left, right)
  if (left instanceof Timestamp && right instanceof Timestamp) return Number(left.nanoseconds - right.nanoseconds)
  if (left instanceof Duration && right instanceof Duration) return Number(left.nanoseconds - right.nanoseconds)
  if (typeof left === "boolean" && typeof right === "boolean") return Number(left) - Number(right)
  if (typeof left !== "string" || typeof right !== "string") return fail("no such overload")
  return Buffer.compare(Buffer.from(left), Buffer.from(right))
}

const numbers = ["int", "uint", "double"]
const comparable = [
  ...numbers.flatMap((left) => numbers.map((right) => `${left}, ${right}`)),
  ...["bool", "string", "bytes", "timestamp", "duration"].map((type) => `${type}, ${type}`),
]

const comparison = (name: string, holds: (order: number) => boolean): ReadonlyArray<Overload> =>
  comparable.map((types) =>
    overload<Pair>(
      `${name}(${types}) -> bool`,
      ([left, right]) => (Number.isNaN(left) || Number.isNaN(right) ? false : holds(compared(left, right))),
      shorter,
    ),
  )

/** An operator with the same meaning for the three kinds of numbers. */
const arithmetic = (
  name: string,
  whole: (left: bigint, right: bigint) => bigint,
  broken: ((left: number, right: number) => number) | undefined,
): ReadonlyArray<Overload> => [
  overload<[bigint, bigint]>(`${name}(int, int) -> int`, ([left, right]) => int64(whole(left, right))),
  overload<[Uint, Uint]>(`${name}(uint, uint) -> uint`, ([left, right]) => new Uint(whole(left.value, right.value))),
  ...(broken === undefined
    ? []
    : [overload<[number, number]>(`${name}(double, double) -> double`, ([left, right]) => broken(left, right))]),
]

const nonZero = (divisor: bigint, problem: string): bigint => (divisor === 0n ? fail(problem) : divisor)

const joinedText = ([left, right]: readonly [string, string], meter: Meter): string => {
  meter.reserve(left.length + right.length)
  return left + right
}

const both = ([left, right]: ReadonlyArray<Value>): number => reading(sizeOf(left) + sizeOf(right))

const contains = ([item, list]: readonly [Value, List], meter: Meter): boolean =>
  list.items.some((other) => areEqual(item, other, meter))

const times: ReadonlyArray<Overload> = [
  overload<[Duration, Duration]>(
    "_+_(duration, duration) -> duration",
    ([left, right]) => new Duration(left.nanoseconds + right.nanoseconds),
  ),
  overload<[Timestamp, Duration]>(
    "_+_(timestamp, duration) -> timestamp",
    ([time, length]) => new Timestamp(time.nanoseconds + length.nanoseconds),
  ),
  overload<[Duration, Timestamp]>(
    "_+_(duration, timestamp) -> timestamp",
    ([length, time]) => new Timestamp(time.nanoseconds + length.nanoseconds),
  ),
  overload<[Timestamp, Timestamp]>(
    "_-_(timestamp, timestamp) -> duration",
    ([left, right]) => new Duration(left.nanoseconds - right.nanoseconds),
  ),
  overload<[Timestamp, Duration]>(
    "_-_(timestamp, duration) -> timestamp",
    ([time, length]) => new Timestamp(time.nanoseconds - length.nanoseconds),
  ),
  overload<[Duration, Duration]>(
    "_-_(duration, duration) -> duration",
    ([left, right]) => new Duration(left.nanoseconds - right.nanoseconds),
  ),
]

const sizes = ["string", "bytes", "list(A)", "map(A, B)"].flatMap((type) => [
  overload<[string | Uint8Array | List | Mapping]>(`size(${type}) -> int`, ([value]) => BigInt(sizeOf(value))),
  overload<[string | Uint8Array | List | Mapping]>(`${type}::size() -> int`, ([value]) => BigInt(sizeOf(value))),
])

export const operators: ReadonlyArray<Overload> = [
  overload("_&&_(bool, bool) -> bool", lazy),
  overload("_||_(bool, bool) -> bool", lazy),
  overload("_?_:_(bool, A, A) -> A", lazy),
  overload<[boolean]>("!_(bool) -> bool", ([value]) => !value),
  overload<[bigint]>("-_(int) -> int", ([value]) => int64(-value)),
  overload<[number]>("-_(double) -> double", ([value]) => -value),
  overload<Pair>("_==_(A, A) -> bool", ([left, right], meter) => areEqual(left, right, meter), shorter),
  overload<Pair>("_!=_(A, A) -> bool", ([left, right], meter) => !areEqual(left, right, meter), shorter),
  ...comparison("_<_", (order) => order < 0),
  ...comparison("_<=_", (order) => order <= 0),
  ...comparison("_>_", (order) => order > 0),
  ...comparison("_>=_", (order) => order >= 0),
  ...arithmetic(
    "_+_",
    (left, right) => left + right,
    (left, right) => left + right,
  ),
  ...arithmetic(
    "_-_",
    (left, right) => left - right,
    (left, right) => left - right,
  ),
  ...arithmetic(
    "_*_",
    (left, right) => left * right,
    (left, right) => left * right,
  ),
  ...arithmetic(
    "_/_",
    (left, right) => left / nonZero(right, "division by zero"),
    (left, right) => left / right,
  ),
  ...arithmetic("_%_", (left, right) => left % nonZero(right, "modulus by zero"), undefined),
  overload("_+_(string, string) -> string", joinedText, both),
  overload<[Uint8Array, Uint8Array]>(
    "_+_(bytes, bytes) -> bytes",
    ([left, right], meter) => {
      meter.reserve(left.length + right.length)
      return new Uint8Array(Buffer.concat([left, right]))
    },
    both,
  ),
  overload<[List, List]>("_+_(list(A), list(A)) -> list(A)", ([left, right], meter) =>
    concatenated(left, right, meter),
  ),
  ...times,
  overload("@in(A, list(A)) -> bool", contains, ([, list]) => sizeOf(list)),
  overload<[Value, Mapping]>("@in(A, map(A, B)) -> bool", ([key, map]) => map.get(key) !== undefined),
  ...sizes,
]
