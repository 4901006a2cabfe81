/** The statistics of the tables. */

/** Middle value; the mean of the two middle ones of an even number. NaN for none. */
export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((left, right) => left - right)
  const upper = sorted[sorted.length >> 1] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[(sorted.length >> 1) - 1] ?? Number.NaN)) / 2
}

/** The smallest value that at least that share of all does not exceed. NaN for none. */
export const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? Number.NaN

/** A point of something measured: x may be changes, or a number of kinds. */
export interface Point {
  readonly x: number
  readonly y: number
}

/** Slope of the least-squares line, y per x. NaN for fewer than two different x. */
export const slope = (points: ReadonlyArray<Point>): number => {
  const meanX = points.reduce((sum, { x }) => sum + x, 0) / points.length
  const meanY = points.reduce((sum, { y }) => sum + y, 0) / points.length
  const covariance = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0)
  return covariance / points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
}

/** The value at x on the straight line between its neighbours; beyond the ends the value there. `points` are ordered by x. */
export const interpolate = (points: ReadonlyArray<Point>, x: number): number => {
  const behind = points.findIndex((point) => point.x >= x)
  const after = points[behind] ?? points.at(-1)
  const before = points[behind - 1] ?? after
  if (after === undefined || before === undefined) return Number.NaN
  return before.x >= x || after.x <= before.x
    ? after.y
    : before.y + ((Math.min(x, after.x) - before.x) / (after.x - before.x)) * (after.y - before.y)
}
