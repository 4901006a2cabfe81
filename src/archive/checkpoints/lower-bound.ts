/** Binary search. */

/** Index of the first element that is not below `value`, their number if there is none; the array ascends. */
export const lowerBound = (values: Float64Array, value: number): number => {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] as number) < value) low = middle + 1
    else high = middle
  }
  return low
}
