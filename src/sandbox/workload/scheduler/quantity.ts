/** Resource quantities (`100m`, `64Mi`, `1e3`, `2`), as far as fitting Pods on nodes needs them: as numbers. */

const binary: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 }
const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 }
const form = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?\d+))?$/

/** `undefined` for what is no quantity. Exact up to 2^53. */
export const parseQuantity = (text: string): number | undefined => {
  const match = form.exec(text)
  if (match === null) return undefined
  const [, digits = "", bits, prefix = "", exponent = "0"] = match
  if (bits !== undefined) return Number(digits) * 2 ** (binary[bits] ?? 0)
  // One decimal literal instead of a multiplication: 0.1 * 1000 would not be exact.
  return Number(`${digits}e${prefix === "" ? exponent : (decimal[prefix] ?? 0)}`)
}

/** In thousandths, rounded up as the scheduler rounds; 0 for what is no quantity. */
export const thousandths = (text: string | undefined): number => {
  const value = parseQuantity(text ?? "")
  return value === undefined ? 0 : Math.ceil(Number((value * 1000).toPrecision(15)))
}

/** Whole units, rounded up; 0 for what is no quantity. */
export const wholeUnits = (text: string | undefined): number => Math.ceil(parseQuantity(text ?? "") ?? 0)
