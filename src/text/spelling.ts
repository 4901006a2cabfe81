/**
 * "Did you mean": the allowed word that a mistyped one was most likely meant to be.
 *
 * Guarantee: a suggestion is always one of the candidates, and never one that shares so little with the word that it would mislead. Work is
 * bounded: words longer than 64 characters get no suggestion.
 */

/** Longest word that is compared; every key, option and kind we know is far shorter. */
const longestWord = 64

/**
 * The candidate nearest to `word`, or `undefined` if none is near. Near means that at most a third of the word's letters (at least one) are
 * inserted, deleted, replaced or swapped with their neighbour; case is ignored. The earlier candidate wins a tie.
 */
export const nearest = (word: string, candidates: Iterable<string>): string | undefined => {
  if (word === "" || word.length > longestWord) return undefined
  const wanted = word.toLowerCase()
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - wanted.length) >= bestDistance) continue
    const distance = editDistance(wanted, candidate.toLowerCase())
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment) that turn one word into the other. */
const editDistance = (left: string, right: string): number => {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let row = 1; row <= left.length; row++) {
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const equal = left[row - 1] === right[column - 1]
      let distance = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (equal ? 0 : 1),
      )
      const swapped =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (swapped) distance = Math.min(distance, (beforePrevious[column - 2] ?? 0) + 1)
      current.push(distance)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[right.length] ?? 0
}
