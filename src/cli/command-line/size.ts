/** Sizes in bytes, as options take them. */
import { type Reading, refused, value } from "./arguments.ts"

const powers = "KMGT"

/** Size in bytes from `500Mi`, `10Gi`, `2G` or `1000`: Kubernetes' units, binary with an i. */
export const parseSize = (given: string): Reading<number> => {
  const [, amount, unit = "", binary] = /^([1-9]\d{0,8})(?:([KMGT])(i?))?$/.exec(given) ?? []
  if (amount === undefined) return refused("must be a size such as 500Mi or 10Gi")
  const power = unit === "" ? 0 : powers.indexOf(unit) + 1
  return value(Number(amount) * (binary === "i" ? 1024 : 1000) ** power)
}
