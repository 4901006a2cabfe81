/** `quantity()`: amounts such as `1.5Gi`, exact whatever their size. */

import { reading } from "../meter.ts"
import { type Overload, overload } from "../overload.ts"
import { fail } from "../problems.ts"
import { Opaque, sizeOf, type Value } from "../values.ts"

/** In billionths of a unit, the finest that Kubernetes keeps. */
type Quantity = Opaque<bigint>

const type = "kubernetes.Quantity"
const billionth = 9
const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/
const binarySuffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
/** Powers of ten beyond this are refused: a number of that many digits would have to be written out. */
const highestExponent = 1000

const quantity = (billionths: bigint): Quantity => new Opaque(type, String(billionths), billionths)

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

const read = ([text]: ReadonlyArray<Value>): number => reading(sizeOf(text))

export const quantities: ReadonlyArray<Overload> = [
  overload<[string]>(
    `quantity(string) -> ${type}`,
    ([text]) =>
      parse(text) ??
      fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
    read,
  ),
  overload<[string]>("isQuantity(string) -> bool", ([text]) => parse(text) !== undefined, read),
  overload<[Quantity]>(`${type}::sign() -> int`, ([{ data }]) => (data < 0n ? -1n : data > 0n ? 1n : 0n)),
  overload<[Quantity]>(`${type}::isInteger() -> bool`, ([one]) => integerOf(one) !== undefined),
  overload<[Quantity]>(
    `${type}::asInteger() -> int`,
    ([one]) => integerOf(one) ?? fail("cannot convert value to integer"),
  ),
  overload<[Quantity]>(`${type}::asApproximateFloat() -> double`, ([{ data }]) => Number(data) / 1e9),
  overload<[Quantity, Quantity]>(`${type}::isGreaterThan(${type}) -> bool`, ([left, right]) => order(left, right) > 0n),
  overload<[Quantity, Quantity]>(`${type}::isLessThan(${type}) -> bool`, ([left, right]) => order(left, right) < 0n),
  overload<[Quantity, Quantity]>(`${type}::compareTo(${type}) -> int`, ([left, right]) => order(left, right)),
  overload<[Quantity, Quantity]>(`${type}::add(${type}) -> ${type}`, ([left, right]) =>
    quantity(left.data + right.data),
  ),
  overload<[Quantity, bigint]>(`${type}::add(int) -> ${type}`, ([left, right]) => quantity(left.data + right * unit)),
  overload<[Quantity, Quantity]>(`${type}::sub(${type}) -> ${type}`, ([left, right]) =>
    quantity(left.data - right.data),
  ),
  overload<[Quantity, bigint]>(`${type}::sub(int) -> ${type}`, ([left, right]) => quantity(left.data - right * unit)),
]
