/** `semver()`: semantic versions, strict or with `v`, missing parts and leading zeros put right. */

import { fail } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { Opaque } from "./values.ts"

interface Parts {
  readonly numbers: readonly [bigint, bigint, bigint]
  /** Behind the `-`, split at dots; empty for a release. */
  readonly prerelease: ReadonlyArray<string>
}

class Version extends Opaque<Parts> {}

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
  return new Version(`${numbers.join(".")}-${prerelease}`, parts)
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

const versionIn = (text: string, isLenient = false): Version =>
  (isLenient ? parseNormalised(text) : parse(text)) ?? fail(`${JSON.stringify(text)} is not a semantic version`)

const isVersion = (text: string, isLenient = false): boolean =>
  (isLenient ? parseNormalised(text) : parse(text)) !== undefined

export const versions: Extension = {
  types: { [type]: Version },
  functions: [
    [`semver(string): ${type}`, (text: string) => versionIn(text)],
    [`semver(string, bool): ${type}`, versionIn],
    ["isSemver(string): bool", (text: string) => isVersion(text)],
    ["isSemver(string, bool): bool", isVersion],
    [`${type}.major(): int`, ({ data }: Version) => data.numbers[0]],
    [`${type}.minor(): int`, ({ data }: Version) => data.numbers[1]],
    [`${type}.patch(): int`, ({ data }: Version) => data.numbers[2]],
    [`${type}.isGreaterThan(${type}): bool`, (left: Version, right: Version) => order(left, right) > 0n],
    [`${type}.isLessThan(${type}): bool`, (left: Version, right: Version) => order(left, right) < 0n],
    [`${type}.compareTo(${type}): int`, order],
  ],
}
