/** `ip()` and `cidr()`: IPv4 and IPv6 addresses and ranges. Addresses with a zone and IPv4 addresses inside IPv6 are refused. */

import { isIP } from "node:net"
import { fail } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { Opaque } from "./values.ts"

interface Address {
  readonly version: 4 | 6
  readonly bits: bigint
}

interface Range {
  readonly address: Address
  /** Bits that all addresses of the range share. */
  readonly length: number
}

class Ip extends Opaque<Address> {}
class Cidr extends Opaque<Range> {}

const ipType = "net.IP"
const cidrType = "net.CIDR"

const width = ({ version }: Address): number => (version === 4 ? 32 : 128)

const groupsOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(":"))

/** `text` is an address, as Node's own check says. */
const bitsOf = (text: string, version: 4 | 6): bigint => {
  if (version === 4) return text.split(".").reduce((bits, part) => (bits << 8n) | BigInt(part), 0n)
  const last = text.slice(text.lastIndexOf(":") + 1)
  const embedded = last.includes(".") ? bitsOf(last, 4) : undefined
  const plain =
    embedded === undefined
      ? text
      : `${text.slice(0, -last.length)}${(embedded >> 16n).toString(16)}:${(embedded & 0xffffn).toString(16)}`
  const [left = "", right] = plain.split("::")
  const [before, after] = [groupsOf(left), groupsOf(right ?? "")]
  const gap = right === undefined ? [] : Array<string>(8 - before.length - after.length).fill("0")
  return [...before, ...gap, ...after].reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n)
}

/** The shortest spelling: lower case, and the longest run of zeros left out. */
const addressText = ({ version, bits }: Address): string => {
  if (version === 4) return [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 255n).join(".")
  const groups = Array.from({ length: 8 }, (_, index) => ((bits >> BigInt(112 - index * 16)) & 0xffffn).toString(16))
  return new URL(`http://[${groups.join(":")}]`).hostname.slice(1, -1)
}

const parseAddress = (text: string): Address | undefined => {
  const version = isIP(text)
  if ((version !== 4 && version !== 6) || text.includes("%")) return undefined
  const bits = bitsOf(text, version)
  return version === 6 && bits >> 32n === 0xffffn ? undefined : { version, bits }
}

const parseRange = (text: string): Range | undefined => {
  const slash = text.lastIndexOf("/")
  const address = slash < 0 ? undefined : parseAddress(text.slice(0, slash))
  const digits = text.slice(slash + 1)
  if (address === undefined || !/^(?:0|[1-9]\d{0,2})$/.test(digits)) return undefined
  return Number(digits) > width(address) ? undefined : { address, length: Number(digits) }
}

const ip = (address: Address): Ip => new Ip(addressText(address), address)

const rangeText = ({ address, length }: Range): string => `${addressText(address)}/${length}`
const cidr = (range: Range): Cidr => new Cidr(rangeText(range), range)

const ipIn = (text: string): Ip => {
  const address = parseAddress(text)
  return address === undefined
    ? fail(`IP Address ${JSON.stringify(text)} parse error during conversion from string`)
    : ip(address)
}

const cidrIn = (text: string): Cidr => {
  const range = parseRange(text)
  return range === undefined
    ? fail(`network address parse error during conversion from string: ${JSON.stringify(text)}`)
    : cidr(range)
}

/** A malformed text counts as a value of the wrong type there. */
const operandIn = <Data, Result>(
  text: string,
  parse: (text: string) => Data | undefined,
  make: (data: Data) => Result,
): Result => {
  const data = parse(text)
  return data === undefined ? fail("no such overload") : make(data)
}

const prefixOf = (address: Address, length: number): bigint => address.bits >> BigInt(width(address) - length)

const containsAddress = ({ data: { address, length } }: Cidr, { data: other }: Ip): boolean =>
  address.version === other.version && prefixOf(address, length) === prefixOf(other, length)

const containsRange = (outer: Cidr, { data: { address, length } }: Cidr): boolean =>
  outer.data.length <= length && containsAddress(outer, ip(address))

const masked = ({ data: { address, length } }: Cidr): Cidr => {
  const free = BigInt(width(address) - length)
  return cidr({ address: { ...address, bits: (address.bits >> free) << free }, length })
}

const isWithin = ({ data }: Ip, four: string, six: string): boolean =>
  containsAddress(cidrIn(data.version === 4 ? four : six), ip(data))

const isLoopback = (one: Ip): boolean => isWithin(one, "127.0.0.0/8", "::1/128")
const isLinkLocal = (one: Ip): boolean => isWithin(one, "169.254.0.0/16", "fe80::/10")
const isMulticast = (one: Ip): boolean => isWithin(one, "224.0.0.0/4", "ff00::/8")
/** Of a multicast address in IPv6, the scope is in the second byte, beside flags. */
const isLinkLocalMulticast = (one: Ip): boolean =>
  one.data.version === 4
    ? isWithin(one, "224.0.0.0/24", "::/0")
    : one.data.bits >> 120n === 0xffn && ((one.data.bits >> 112n) & 15n) === 2n
const isUnspecified = ({ data }: Ip): boolean => data.bits === 0n
const isGlobalUnicast = (one: Ip): boolean =>
  !(isUnspecified(one) || isLoopback(one) || isMulticast(one) || isLinkLocal(one)) &&
  !(one.data.version === 4 && one.data.bits === 0xffff_ffffn)

export const addresses: Extension = {
  types: { [ipType]: Ip, [cidrType]: Cidr },
  functions: [
    [`ip(string): ${ipType}`, ipIn],
    ["isIP(string): bool", (text: string) => parseAddress(text) !== undefined],
    ["Of.ip.isCanonical(string): bool", (_: object, text: string) => addressText(ipIn(text).data) === text],
    [`string(${ipType}): string`, (one: Ip) => one.identity],
    [`${ipType}.family(): int`, (one: Ip) => BigInt(one.data.version)],
    [`${ipType}.isUnspecified(): bool`, isUnspecified],
    [`${ipType}.isLoopback(): bool`, isLoopback],
    [`${ipType}.isLinkLocalMulticast(): bool`, isLinkLocalMulticast],
    [`${ipType}.isLinkLocalUnicast(): bool`, isLinkLocal],
    [`${ipType}.isGlobalUnicast(): bool`, isGlobalUnicast],
    [`cidr(string): ${cidrType}`, cidrIn],
    ["isCIDR(string): bool", (text: string) => parseRange(text) !== undefined],
    [`string(${cidrType}): string`, (one: Cidr) => one.identity],
    [`${cidrType}.containsIP(${ipType}): bool`, containsAddress],
    [
      `${cidrType}.containsIP(string): bool`,
      (one: Cidr, text: string) => containsAddress(one, operandIn(text, parseAddress, ip)),
    ],
    [`${cidrType}.containsCIDR(${cidrType}): bool`, containsRange],
    [
      `${cidrType}.containsCIDR(string): bool`,
      (one: Cidr, text: string) => containsRange(one, operandIn(text, parseRange, cidr)),
    ],
    [`${cidrType}.ip(): ${ipType}`, (one: Cidr) => ip(one.data.address)],
    [`${cidrType}.masked(): ${cidrType}`, masked],
    [`${cidrType}.prefixLength(): int`, (one: Cidr) => BigInt(one.data.length)],
  ],
}
