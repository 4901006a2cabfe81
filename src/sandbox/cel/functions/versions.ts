/** `semver()`: semantic versions, strict or with `v`, missing parts and leading zeros put right. */

import { reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Opaque, sizeOf, type Value } from "../values.ts"

interface Parts {
  readonly numbers: readonly [bigint, bigint, bigint]
  /** Behind the `-`, split at dots; empty for a release. */
  readonly prerelease: ReadonlyArray<string>
}

type Version = Opaque<Parts>

const type = "kubernetes.Semver"
const number = "(0|[1-9]\\d*)"
const identifier = "(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)"
const form = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9a-zA-Z-]+(?:\\.[0-9a-zA-Z-]+)*)?$`,
)
const largest = 2n ** 64n

const parse = (text: string): Version | undefined => {
  const [, major, minor, patch, prerelease = ""] = form.exec(text) ?? []
  if (major === undefined || minor === undefined || patch === undefined) return undefined
  const numbers = [BigInt(major), BigInt(minor), BigInt(patch)] as const
  if (numbers.some((one) => one >= largest)) return undefined
  const parts: Parts = { numbers, prerelease: prerelease === "" ? [] : prerelease.split(".") }
  return new Opaque(type, `${numbers.join(".")}-${prerelease}`, parts)
}

const normalised = (text: string): string | undefined => {
  const [major = "", minor, ...rest] = text.replace(/^v/, "").split(".")
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join(".")])]
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) return undefined
  const trimmed = parts.map((part) => (part.length > 1 ? part.replace(/^0+(?=\d)/, "") : part))
  return [...trimmed, "0", "0"].slice(0, 3).join(".")
}

const parseNormalised = (text: string): Version | undefined => {
  const strict = normalised(text)
  return strict === undefined ? undefined : parse(strict)
}

const order = ({ data: left }: Version, { data: right }: Version): bigint => {
  for (const [index, one] of left.numbers.entries()) {
    const other = right.numbers[index] ?? 0n
    if (one !== other) return one < other ? -1n : 1n
  }
  if (left.prerelease.length === 0 || right.prerelease.length === 0)
    return BigInt(right.prerelease.length === 0 ? 0 : 1) - BigInt(left.prerelease.length === 0 ? 0 : 1)
  for (const [index, one] of left.prerelease.entries()) {
    const other = right.prerelease[index]
    if (other === undefined) return 1n
    const difference = identifierOrder(one, other)
    if (difference !== 0n) return difference
  }
  return left.prerelease.length < right.prerelease.length ? -1n : 0n
}

/** Numbers come before words. */
const identifierOrder = (left: string, right: string): bigint => {
  if (left === right) return 0n
  const [isNumber, isOtherNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)]
  if (isNumber && isOtherNumber) return BigInt(left) < BigInt(right) ? -1n : 1n
  if (isNumber !== isOtherNumber) return isNumber ? -1n : 1n
  return left < right ? -1n : 1n
}

const read = ([text]: ReadonlyArray<Value>): number => reading(sizeOf(text))
const versionIn = (text: string, isLenient: boolean): Version =>
  (isLenient ? parseNormalised(text) : parse(text)) ?? fail(`${JSON.stringify(text)} is not a semantic version`)

export const versions: ReadonlyArray<Overload> = [
  overload<[string]>(`semver(string) -> ${type}`, ([text]) => versionIn(text, false), read),
  overload<[string, boolean]>(`semver(string, bool) -> ${type}`, ([text, lenient]) => versionIn(text, lenient), read),
  overload<[string]>("isSemver(string) -> bool", ([text]) => parse(text) !== undefined, read),
  overload<[string, boolean]>(
    "isSemver(string, bool) -> bool",
    ([text, lenient]) => (lenient ? parseNormalised(text) : parse(text)) !== undefined,
    read,
  ),
  ...(["major", "minor", "patch"] as const).map((part, index) =>
    overload<[Version]>(`${type}::${part}() -> int`, ([version]) => version.data.numbers[index] ?? 0n),
  ),
  overload<[Version, Version]>(`${type}::isGreaterThan(${type}) -> bool`, ([left, right]) => order(left, right) > 0n),
  overload<[Version, Version]>(`${type}::isLessThan(${type}) -> bool`, ([left, right]) => order(left, right) < 0n),
  overload<[Version, Version]>(`${type}::compareTo(${type}) -> int`, ([left, right]) => order(left, right)),
]
