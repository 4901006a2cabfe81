/** Sorting of events by their objects. */

/**
 * Indexes of events by object, and in sequence order for each. Sorted by one byte of the number after the other: 20 µs for 2,800 events, while sorting numbers
 * that contain the index takes 170.
 */
export const byObject = (numbers: Uint32Array, count: number): Uint32Array => {
  let highest = 0
  for (let index = 0; index < count; index++) highest = Math.max(highest, numbers[index] as number)
  let sorted = new Uint32Array(count)
  for (let index = 0; index < count; index++) sorted[index] = index
  let target = new Uint32Array(count)
  for (let shift = 0; shift < 32 && highest >>> shift > 0; shift += 8) {
    const places = new Uint32Array(257)
    for (let index = 0; index < count; index++) {
      const digit = ((numbers[index] as number) >>> shift) & 0xff
      places[digit + 1] = (places[digit + 1] as number) + 1
    }
    for (let digit = 0; digit < 256; digit++)
      places[digit + 1] = (places[digit + 1] as number) + (places[digit] as number)
    for (let at = 0; at < count; at++) {
      const index = sorted[at] as number
      const digit = ((numbers[index] as number) >>> shift) & 0xff
      const place = places[digit] as number
      target[place] = index
      places[digit] = place + 1
    }
    ;[sorted, target] = [target, sorted]
  }
  return sorted
}
