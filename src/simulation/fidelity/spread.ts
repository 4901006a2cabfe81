/** Percentiles of measurements that are all at hand, and shares. */
import type { Spread } from "../report/replay-report.ts"

/** Nearest-rank percentiles; `undefined` if there are no values. Sorts the values. */
export const spreadOf = (values: Float64Array | ReadonlyArray<number>): Spread | undefined => {
  if (values.length === 0) return undefined
  const sorted = Float64Array.from(values).sort()
  const at = (share: number): number =>
    rounded(sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] as number)
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), max: rounded(sorted.at(-1) as number) }
}

/** To µs: more digits are not measured. */
export const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

/** Between 0 and 1, and 1 only if it is all; `null`: of nothing. */
export const shareOf = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.floor((part / whole) * 10_000) / 10_000
