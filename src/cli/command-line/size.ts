/** Numbers of bytes as options have them. */
import { type Reading, refused, value } from "./arguments.ts"

const powers = "KMGT"

/** bytes: `500Mi`, `10Gi`, `2G`, `1000`; units as Kubernetes has them, binary with an i. */
export const parseSize = (given: string): Reading<number> => {
  const [, amount, unit = "", binary] = /^([1-9]\d{0,8})(?:([KMGT])(i?))?$/.exec(given) ?? []
  if (amount === undefined) return refused("it must be a size such as 500Mi or 10Gi")
  const power = unit === "" ? 0 : powers.indexOf(unit) + 1
  return value(Number(amount) * (binary === "i" ? 1024 : 1000) ** power)
}
