/** Binary search. */

/** Index of the first element from `start` to before `end` that is not below `value`, `end` if there is none; those elements ascend. Default: of all. */
export const lowerBound = (
  values: Float64Array | Uint32Array,
  value: number,
  start = 0,
  end = values.length,
): number => {
  let low = start
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
