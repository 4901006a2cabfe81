/** How much of a text a page shows: names and messages of a trace may have any length, and so may the values of fields. */

/** Characters of one text. Names of Kubernetes have at most 253, and most of them 63. */
const LONGEST_TEXT = 200

/** Characters that two values have in common before they differ, and are shown. */
const CONTEXT = 40

/** The beginning of a text. */
export const shortened = (text: string): string =>
  text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…`.toWellFormed() : text

/** Two values where they differ: long ones are often the same up to there. */
export const excerpts = (before: string, after: string): readonly [string, string] => {
  const from = firstDifference(before, after) - CONTEXT
  const isSameBeginning = from > CONTEXT && Math.max(before.length, after.length) > LONGEST_TEXT
  const excerpt = (text: string): string =>
    isSameBeginning ? `…${shortened(text.slice(from))}`.toWellFormed() : shortened(text)
  return [excerpt(before), excerpt(after)]
}

const firstDifference = (one: string, other: string): number => {
  let at = 0
  while (at < one.length && at < other.length && one[at] === other[at]) at++
  return at
}
