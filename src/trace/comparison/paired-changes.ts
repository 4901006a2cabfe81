/**
 * Which changes of an object two traces have in common: the nth time that it became a certain state, or went, in one and in the other. What has no counterpart is in one trace
 * only. Linear in the number of changes, and independent of times.
 */

/** Places of changes in the lists that were compared. */
interface PairedChanges {
  readonly pairs: ReadonlyArray<readonly [number, number]>
  readonly onlyInFirst: ReadonlyArray<number>
  readonly onlyInSecond: ReadonlyArray<number>
}

/** Both lists are hashes, in the order of the changes. */
export const pairedChanges = (first: ReadonlyArray<number>, second: ReadonlyArray<number>): PairedChanges => {
  const waiting = new Map<number, number[]>()
  for (const [place, hash] of first.entries()) {
    const places = waiting.get(hash)
    if (places === undefined) waiting.set(hash, [place])
    else places.push(place)
  }
  /** How many of those with a hash have a counterpart. */
  const taken = new Map<number, number>()
  const pairs: (readonly [number, number])[] = []
  const onlyInSecond: number[] = []
  for (const [place, hash] of second.entries()) {
    const count = taken.get(hash) ?? 0
    const other = waiting.get(hash)?.[count]
    if (other === undefined) {
      onlyInSecond.push(place)
      continue
    }
    taken.set(hash, count + 1)
    pairs.push([other, place])
  }
  const onlyInFirst = [...waiting].flatMap(([hash, places]) => places.slice(taken.get(hash) ?? 0))
  return { pairs, onlyInFirst: onlyInFirst.sort((one, other) => one - other), onlyInSecond }
}
