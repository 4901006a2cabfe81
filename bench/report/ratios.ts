/**
 * The ratio of each subject to ours within one round, which can be compared across machines: smallest, median and largest of the rounds.
 * Subjects that did not take part in every round of ours have none.
 */
import { median } from "./statistics.ts"
import {
  type Cells,
  formatNumber,
  type Measure,
  type OtherSubject,
  otherSubjects,
  qualifiedNames,
  titleOf,
} from "./table.ts"

export interface Ratio {
  /** Name of the row without its context, with its unit. */
  readonly measure: string
  readonly of: OtherSubject
  readonly min: number
  readonly median: number
  readonly max: number
}

/** The other's value divided by ours, one per round; empty unless both took part in all and no value is 0. */
export const quotients = (
  others: ReadonlyArray<number> | undefined,
  ours: ReadonlyArray<number>,
): ReadonlyArray<number> => {
  if (others?.length !== ours.length) return []
  const values = ours.map((own, round) => (others[round] ?? Number.NaN) / own)
  return values.every((value) => Number.isFinite(value) && value > 0) ? values : []
}

export const ratiosOf = (measures: ReadonlyArray<Measure>): ReadonlyArray<Ratio> => {
  const names = qualifiedNames(measures)
  return measures.flatMap((measure, index) =>
    (Object.keys(otherSubjects) as ReadonlyArray<OtherSubject>).flatMap((of): ReadonlyArray<Ratio> => {
      const values = measure.hasRatios === false ? [] : quotients(measure[of], measure.ours)
      if (values.length === 0) return []
      const name = titleOf({ name: names[index] ?? measure.name, unit: measure.unit })
      return [{ measure: name, of, min: Math.min(...values), median: median(values), max: Math.max(...values) }]
    }),
  )
}

export const ratioCells = (ratios: ReadonlyArray<Ratio>): Cells => [
  ["ratio, within a round", "min", "median", "max"],
  ...ratios.map(({ measure, of, min, median: middle, max }) => [
    `${otherSubjects[of]} ÷ ours: ${measure}`,
    ...[min, middle, max].map((value) => formatNumber(value, 2)),
  ]),
]
