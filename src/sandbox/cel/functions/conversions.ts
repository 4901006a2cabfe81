/** Conversions between types, `type()` and `dyn()`. */

import { reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Duration, int64, sizeOf, Timestamp, TypeName, typeNameOf, Uint, type Value } from "../values.ts"
import { durationText, parseGoDuration, parseTimestamp, timestampText } from "./time-texts.ts"

const nanosecondsPerSecond = 1_000_000_000n

const wholeNumber = (value: number): bigint =>
  Number.isFinite(value) && Math.abs(value) < 2 ** 63 ? BigInt(Math.trunc(value)) : fail("integer overflow")

const integerIn = (text: string): bigint =>
  /^[+-]?\d+$/.test(text) ? int64(BigInt(text.replace(/^\+/, ""))) : malformed(text, "int")

const malformed = (text: string, type: string): never =>
  fail(`type conversion error from 'string' to '${type}': ${JSON.stringify(text)}`)

const doubleIn = (text: string): number => {
  const value = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)
    ? Number(text)
    : special.get(text.toLowerCase())
  return value ?? malformed(text, "double")
}

const special: ReadonlyMap<string, number> = new Map([
  ["nan", Number.NaN],
  ...["inf", "+inf", "infinity", "+infinity"].map((text) => [text, Infinity] as const),
  ...["-inf", "-infinity"].map((text) => [text, -Infinity] as const),
])

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
])

const utf8 = new TextDecoder("utf-8", { fatal: true })

const textIn = (bytes: Uint8Array): string => {
  try {
    return utf8.decode(bytes)
  } catch {
    return fail("invalid UTF-8 in bytes, cannot convert to string")
  }
}

/** As Go writes it without an exponent limit of its own. */
const doubleText = (value: number): string => (Number.isFinite(value) ? String(value) : infiniteText(value))
const infiniteText = (value: number): string => (Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf")

const read = ([value]: ReadonlyArray<Value>): number => reading(sizeOf(value))

export const conversions: ReadonlyArray<Overload> = [
  overload<[Value]>("dyn(A) -> dyn", ([value]) => value),
  overload<[Value]>("type(A) -> type", ([value]) => new TypeName(typeNameOf(value))),
  overload<[bigint]>("int(int) -> int", ([value]) => value),
  overload<[Uint]>("int(uint) -> int", ([value]) => int64(value.value)),
  overload<[number]>("int(double) -> int", ([value]) => wholeNumber(value)),
  overload<[string]>("int(string) -> int", ([text]) => integerIn(text)),
  overload<[Timestamp]>("int(timestamp) -> int", ([time]) => time.nanoseconds / nanosecondsPerSecond),
  overload<[Duration]>("int(duration) -> int", ([length]) => length.nanoseconds),
  overload<[Uint]>("uint(uint) -> uint", ([value]) => value),
  overload<[bigint]>("uint(int) -> uint", ([value]) => new Uint(value)),
  overload<[number]>("uint(double) -> uint", ([value]) =>
    Number.isFinite(value) ? new Uint(BigInt(Math.trunc(value))) : fail("unsigned integer overflow"),
  ),
  overload<[string]>("uint(string) -> uint", ([text]) =>
    /^\d+$/.test(text) ? new Uint(BigInt(text)) : malformed(text, "uint"),
  ),
  overload<[number]>("double(double) -> double", ([value]) => value),
  overload<[bigint]>("double(int) -> double", ([value]) => Number(value)),
  overload<[Uint]>("double(uint) -> double", ([value]) => Number(value.value)),
  overload<[string]>("double(string) -> double", ([text]) => doubleIn(text)),
  overload<[boolean]>("bool(bool) -> bool", ([value]) => value),
  overload<[string]>("bool(string) -> bool", ([text]) => truths.get(text) ?? malformed(text, "bool")),
  overload<[string]>("string(string) -> string", ([text]) => text),
  overload<[boolean]>("string(bool) -> string", ([value]) => String(value)),
  overload<[bigint]>("string(int) -> string", ([value]) => String(value)),
  overload<[Uint]>("string(uint) -> string", ([value]) => String(value.value)),
  overload<[number]>("string(double) -> string", ([value]) => doubleText(value)),
  overload<[Uint8Array]>("string(bytes) -> string", ([bytes]) => textIn(bytes), read),
  overload<[Timestamp]>("string(timestamp) -> string", ([time]) => timestampText(time)),
  overload<[Duration]>("string(duration) -> string", ([length]) => durationText(length)),
  overload<[Uint8Array]>("bytes(bytes) -> bytes", ([bytes]) => bytes),
  overload<[string]>("bytes(string) -> bytes", ([text]) => new TextEncoder().encode(text), read),
  overload<[Timestamp]>("timestamp(timestamp) -> timestamp", ([time]) => time),
  overload<[string]>(
    "timestamp(string) -> timestamp",
    ([text]) => parseTimestamp(text) ?? fail(`cannot parse ${JSON.stringify(text)} as a timestamp`),
  ),
  overload<[bigint]>("timestamp(int) -> timestamp", ([seconds]) => new Timestamp(seconds * nanosecondsPerSecond)),
  overload<[Duration]>("duration(duration) -> duration", ([length]) => length),
  overload<[string]>(
    "duration(string) -> duration",
    ([text]) => parseGoDuration(text) ?? fail(`time: invalid duration ${JSON.stringify(text)}`),
  ),
  overload<[bigint]>("duration(int) -> duration", ([nanoseconds]) => new Duration(nanoseconds)),
]
