/** `quantity()`: amounts such as `1.5Gi`, exact whatever their size. */

import { fail } from "./evaluation.ts"
import type { Extension } from "./program.ts"
import { Opaque } from "./values.ts"

/** In billionths of a unit, the finest that Kubernetes keeps. */
class Quantity extends Opaque<bigint> {}

const type = "kubernetes.Quantity"
const billionth = 9
const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
/** Powers of ten beyond this are refused: a number of that many digits would have to be written out. */
const highestExponent = 1000

const quantity = (billionths: bigint): Quantity => new Quantity(String(billionths), billionths)

const parse = (text: string): Quantity | undefined => {
  const [, sign, whole = "", fraction = "", binary, decimal, exponent] = form.exec(text) ?? []
  if (sign === undefined || whole + fraction === "" || whole.length + fraction.length > highestExponent)
    return undefined
  const power = exponent === undefined ? decimalPower(decimal) : Number(exponent)
  if (Math.abs(power) > highestExponent) return undefined
  const factor = binary === undefined ? 1n : 1024n ** BigInt(binarySuffixes.indexOf(binary) + 1)
  const amount = scaled(BigInt(whole + fraction) * factor, power + billionth - fraction.length)
  return quantity(sign === "-" ? -amount : amount)
}

const decimalPower = (suffix: string | undefined): number =>
  suffix === undefined ? 0 : (decimalSuffixes.indexOf(suffix) - 3) * 3

/** Times a power of ten; what is too fine is rounded up, so that nothing becomes zero. */
const scaled = (amount: bigint, power: number): bigint => {
  if (power >= 0) return amount * 10n ** BigInt(power)
  const divisor = 10n ** BigInt(-power)
  return (amount + divisor - 1n) / divisor
}

const unit = 10n ** BigInt(billionth)

const integerOf = ({ data }: Quantity): bigint | undefined =>
  data % unit === 0n && BigInt.asIntN(64, data / unit) === data / unit ? data / unit : undefined

const order = (left: Quantity, right: Quantity): bigint =>
  left.data < right.data ? -1n : left.data > right.data ? 1n : 0n

const quantityIn = (text: string): Quantity =>
  parse(text) ?? fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")

export const quantities: Extension = {
  types: { [type]: Quantity },
  functions: [
    [`quantity(string): ${type}`, quantityIn],
    ["isQuantity(string): bool", (text: string) => parse(text) !== undefined],
    [`${type}.sign(): int`, ({ data }: Quantity) => (data < 0n ? -1n : data > 0n ? 1n : 0n)],
    [`${type}.isInteger(): bool`, (one: Quantity) => integerOf(one) !== undefined],
    [`${type}.asInteger(): int`, (one: Quantity) => integerOf(one) ?? fail("cannot convert value to integer")],
    [`${type}.asApproximateFloat(): double`, ({ data }: Quantity) => Number(data) / 1e9],
    [`${type}.isGreaterThan(${type}): bool`, (left: Quantity, right: Quantity) => order(left, right) > 0n],
    [`${type}.isLessThan(${type}): bool`, (left: Quantity, right: Quantity) => order(left, right) < 0n],
    [`${type}.compareTo(${type}): int`, order],
    [`${type}.add(${type}): ${type}`, (left: Quantity, right: Quantity) => quantity(left.data + right.data)],
    [`${type}.add(int): ${type}`, (left: Quantity, right: bigint) => quantity(left.data + right * unit)],
    [`${type}.sub(${type}): ${type}`, (left: Quantity, right: Quantity) => quantity(left.data - right.data)],
    [`${type}.sub(int): ${type}`, (left: Quantity, right: bigint) => quantity(left.data - right * unit)],
  ],
}
