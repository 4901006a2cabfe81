/** Amounts such as `100m`, `1.5Gi` or `2e3`, compared and printed as Kubernetes does. */

import type { Fields } from "../kind-rules.ts"

const suffixes: ReadonlyMap<string, number> = new Map([
  ["n", 1e-9],
  ["u", 1e-6],
  ["m", 1e-3],
  ["", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["T", 1e12],
  ["P", 1e15],
  ["E", 1e18],
  ["Ki", 2 ** 10],
  ["Mi", 2 ** 20],
  ["Gi", 2 ** 30],
  ["Ti", 2 ** 40],
  ["Pi", 2 ** 50],
  ["Ei", 2 ** 60],
])

/** The amount in units, exact to a double's 15 digits; `undefined` for what is no quantity. JSON numbers are quantities. */
export const quantityOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  if (typeof value !== "string") return undefined
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:[eE]([+-]?\d+)|(n|u|m|k|[KMGTPE]i?|))$/.exec(value)
  if (match === null) return undefined
  const [, digits = "", exponent, suffix = ""] = match
  if (exponent !== undefined) return Number(`${digits}e${exponent}`)
  const factor = suffixes.get(suffix)
  return factor === undefined ? undefined : Number(digits) * factor
}

const binary = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const decimal = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]

/**
 * The canonical spelling: the largest suffix that leaves a whole number, of the family the amount was written in
 * (`1024Mi` is `1Gi`, `1000m` is `1`). What is no quantity comes back as it is.
 */
export const canonicalQuantity = (value: unknown): unknown => {
  const amount = quantityOf(value)
  if (amount === undefined || !Number.isFinite(amount)) return value
  const written = String(value)
  if (/[eE][+-]?\d/.test(written)) return value
  if (amount === 0) return "0"
  if (/[KMGTPE]i$/.test(written) && Number.isInteger(amount)) return withSuffix(amount, binary, 1024)
  // Finer than a thousandth is rounded up, so that asking for anything never becomes asking for nothing.
  const thousandths = Math.ceil(Number((amount * 1000).toPrecision(15)))
  return withSuffix(thousandths, decimal.slice(2), 1000)
}

/** Respells the amounts of a list of resources, as every one that the server reads comes out again. */
export const spellAmounts = (amounts: Fields | undefined): void => {
  for (const name in amounts) amounts[name] = canonicalQuantity(amounts[name])
}

const withSuffix = (whole: number, names: ReadonlyArray<string>, base: number): string => {
  let rest = whole
  let step = 0
  while (rest % base === 0 && step < names.length - 1) {
    rest /= base
    step++
  }
  return `${rest}${names[step]}`
}
