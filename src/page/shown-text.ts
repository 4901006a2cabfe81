/** How much of a text a page shows: names and messages of a trace may have any length, and so may the values of fields. */

/** Characters of one text. Names of Kubernetes have at most 253, and most of them 63. */
const LONGEST_TEXT = 200

/** Characters that two values have in common before they differ, and are shown. */
const CONTEXT = 40

/** The beginning of a text. */
export const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…`.toWellFormed() : text

/** A value before and after; `undefined`: it is absent. */
type ValuePair = readonly [before: string | undefined, after: string | undefined]

/** Two values where they differ: long ones are often the same up to there. */
export const excerpts = ([before, after]: ValuePair): ValuePair => {
  if (before === undefined || after === undefined) return [before && shortened(before), after && shortened(after)]
  const from = firstDifference(before, after) - CONTEXT
  if (from < CONTEXT || Math.max(before.length, after.length) <= LONGEST_TEXT)
    return [shortened(before), shortened(after)]
  const excerpt = (text: string): string => `…${shortened(text.slice(from))}`.toWellFormed()
  return [excerpt(before), excerpt(after)]
}

const firstDifference = (one: string, other: string): number => {
  let at = 0
  while (at < one.length && at < other.length && one[at] === other[at]) at++
  return at
}
