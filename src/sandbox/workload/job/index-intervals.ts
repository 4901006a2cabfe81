/** Completed indexes as the status writes them: `0,2-5,7`; two consecutive ones are `3,4`. */

/** Indexes below `limit`, ascending. Unreadable parts are skipped. */
export const parseIndexes = (text: string | undefined, limit: number): ReadonlyArray<number> => {
  const indexes: number[] = []
  for (const part of (text ?? "").split(",")) {
    const [, first = "", last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? []
    if (first === "") continue
    for (let index = Number(first); index <= Number(last) && index < limit; index++) indexes.push(index)
  }
  return indexes
}

/** The inverse; `indexes` in any order, each once. */
export const formatIndexes = (indexes: Iterable<number>): string => {
  const sorted = [...indexes].sort((left, right) => left - right)
  const parts: string[] = []
  for (let start = 0; start < sorted.length; ) {
    let end = start
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++
    const length = end - start
    parts.push(length === 0 ? `${sorted[start]}` : `${sorted[start]}${length === 1 ? "," : "-"}${sorted[end]}`)
    start = end + 1
  }
  return parts.join(",")
}
