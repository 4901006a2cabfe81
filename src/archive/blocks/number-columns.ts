/**
 * Columns of 32-bit numbers as planes: all lowest bytes, then all second ones, and so on without planes of nothing but zeros.
 *
 * zstd then finds runs in high bytes, and statistics of their own in low ones: the columns of 2,800 changes of Deployments take 3 bytes an event
 * instead of 8.8.
 */

/** Planes of the first `count` numbers: a multiple of `count` bytes. */
export const toPlanes = (column: Uint32Array, count: number): Uint8Array => {
  let all = 0
  for (let index = 0; index < count; index++) all |= column[index] ?? 0
  const planes = Math.ceil((32 - Math.clz32(all)) / 8)
  const bytes = new Uint8Array(planes * count)
  for (let plane = 0; plane < planes; plane++) {
    const [start, shift] = [plane * count, plane * 8]
    for (let index = 0; index < count; index++) bytes[start + index] = (column[index] ?? 0) >>> shift
  }
  return bytes
}

/** @throws RangeError if these are not planes of `count` numbers */
export const requirePlanes = (bytes: Uint8Array, count: number): void => {
  const planes = bytes.length === 0 ? 0 : bytes.length / count
  if (!Number.isInteger(planes) || planes > 4) throw new RangeError(`${bytes.length} bytes for ${count} numbers`)
}

/** The inverse of {@link toPlanes}. The bytes may change afterwards. @throws RangeError if these are not planes of `count` numbers */
export const fromPlanes = (bytes: Uint8Array, count: number): Uint32Array => {
  requirePlanes(bytes, count)
  // One plane is the most frequent case by far, then two.
  if (bytes.length === count) return new Uint32Array(bytes)
  const column = new Uint32Array(count)
  if (bytes.length === 2 * count) {
    for (let index = 0; index < count; index++) column[index] = (bytes[index] ?? 0) | ((bytes[count + index] ?? 0) << 8)
    return column
  }
  for (let start = 0, shift = 0; start < bytes.length; start += count, shift += 8) {
    for (let index = 0; index < count; index++)
      column[index] = (column[index] ?? 0) | ((bytes[start + index] ?? 0) << shift)
  }
  return column
}

/** The number at an index. @throws RangeError if these are not planes of `count` numbers */
export const valueInPlanes = (bytes: Uint8Array, count: number, index: number): number => {
  requirePlanes(bytes, count)
  let value = 0
  for (let at = index, factor = 1; at < bytes.length; at += count, factor *= 256) value += (bytes[at] ?? 0) * factor
  return value
}

/**
 * The sum of the numbers from an index up to another, exclusive, up to 2^53, without unpacking them. @throws RangeError if these are not planes of `count`
 * numbers
 */
export const sumOfPlanes = (bytes: Uint8Array, count: number, from: number, to: number): number => {
  requirePlanes(bytes, count)
  let sum = 0
  for (let start = 0, factor = 1; start < bytes.length; start += count, factor *= 256) {
    let inPlane = 0
    for (let at = start + from; at < start + to; at++) inPlane += bytes[at] ?? 0
    sum += inPlane * factor
  }
  return sum
}

/**
 * Index of a number in planes, from `from` on; −1: it is not there. Looks for its lowest byte, and at the others where it is. @throws RangeError if these are
 * not planes of `count` numbers
 */
export const indexInPlanes = (bytes: Uint8Array, count: number, number: number, from: number): number => {
  requirePlanes(bytes, count)
  const planes = count === 0 ? 0 : bytes.length / count
  if (planes < 4 && number >>> (8 * planes) > 0) return -1
  if (planes === 0) return from < count ? from : -1
  const lowest = bytes.subarray(0, count)
  for (let index = lowest.indexOf(number & 0xff, from); index >= 0; index = lowest.indexOf(number & 0xff, index + 1)) {
    let plane = 1
    while (plane < planes && bytes[plane * count + index] === ((number >>> (8 * plane)) & 0xff)) plane++
    if (plane === planes) return index
  }
  return -1
}

// Sorting of events by their objects.

/**
 * Indexes of events by object, and in sequence order for each. Sorted by one byte of the number after the other: 20 µs for 2,800 events, while sorting numbers
 * that contain the index takes 170.
 */
export const byObject = (numbers: Uint32Array, count: number): Uint32Array => {
  let highest = 0
  for (let index = 0; index < count; index++) highest = Math.max(highest, numbers[index] ?? 0)
  let sorted = new Uint32Array(count)
  for (let index = 0; index < count; index++) sorted[index] = index
  let target = new Uint32Array(count)
  for (let shift = 0; shift < 32 && highest >>> shift > 0; shift += 8) {
    const places = new Uint32Array(257)
    for (let index = 0; index < count; index++) {
      const digit = ((numbers[index] ?? 0) >>> shift) & 0xff
      places[digit + 1] = (places[digit + 1] ?? 0) + 1
    }
    for (let digit = 0; digit < 256; digit++) places[digit + 1] = (places[digit + 1] ?? 0) + (places[digit] ?? 0)
    for (let at = 0; at < count; at++) {
      const index = sorted[at] ?? 0
      const digit = ((numbers[index] ?? 0) >>> shift) & 0xff
      const place = places[digit] ?? 0
      target[place] = index
      places[digit] = place + 1
    }
    ;[sorted, target] = [target, sorted]
  }
  return sorted
}

// Binary search.

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
    if ((values[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
