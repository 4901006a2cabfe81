/** Amounts such as `100m`, `1.5Gi`, `2e3` or the number 2, parsed and written as Kubernetes does. */

const binarySuffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]
const decimalSuffixes = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"]
const form = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/

/** The amount in units, exact up to 2^53 and to 15 digits beyond; `undefined` if it is not a quantity. */
export const quantityOf = (value: unknown): number | undefined => {
  if (typeof value === "number") return value
  const match = typeof value === "string" ? form.exec(value) : null
  if (match === null) return undefined
  const [, digits = "", binary, decimal = "", exponent] = match
  if (binary !== undefined) return Number(digits) * 1024 ** binarySuffixes.indexOf(binary)
  // One decimal literal instead of a multiplication: 0.1 * 1000 would not be exact.
  return Number(`${digits}e${exponent ?? (decimalSuffixes.indexOf(decimal) - 3) * 3}`)
}

/** In thousandths, rounded up as the scheduler rounds; 0 if it is not a quantity. */
export const thousandths = (value: unknown): number =>
  Math.ceil(Number(((quantityOf(value) ?? 0) * 1000).toPrecision(15)))

/** Whole units, rounded up; 0 if it is not a quantity. */
export const wholeUnits = (value: unknown): number => Math.ceil(quantityOf(value) ?? 0)

/**
 * The canonical spelling: the largest suffix that leaves a whole number, of the family the amount was written in (`1024Mi` is `1Gi`,
 * `1000m` is `1`). Returns anything that is not a quantity unchanged.
 */
export const canonicalQuantity = (value: unknown): unknown => {
  const amount = quantityOf(value)
  if (amount === undefined || !Number.isFinite(amount)) return value
  const written = String(value)
  if (/[eE][+-]?\d/.test(written)) return value
  if (amount === 0) return "0"
  if (/[KMGTPE]i$/.test(written) && Number.isInteger(amount)) return withSuffix(amount, binarySuffixes, 1024)
  // Anything finer than a thousandth is rounded up, so that a small request never becomes zero.
  return withSuffix(thousandths(amount), decimalSuffixes.slice(2), 1000)
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
