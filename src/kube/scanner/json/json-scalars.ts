/**
 * Numbers, literals and escape sequences of RFC 8259, recognised in bytes.
 *
 * Every function takes the position of the first byte of its token, reads only below `end`, and returns the position after the token, or -1
 * if the bytes are not such a token. The caller checks what follows the token.
 */

const MINUS = 45
const ZERO = 48
const NINE = 57

/** The position after the digits that start at `position`; `position` itself if there are none. */
const skipDigits = (view: DataView, position: number, end: number): number => {
  let at = position
  while (at < end) {
    const byte = view.getUint8(at)
    if (byte < ZERO || byte > NINE) break
    at++
  }
  return at
}

/** A whole number: optional minus, no leading zeros, optional fraction and exponent. */
const skipNumber = (view: DataView, position: number, end: number): number => {
  const integer = view.getUint8(position) === MINUS ? position + 1 : position
  let at = skipDigits(view, integer, end)
  if (at === integer || (at > integer + 1 && view.getUint8(integer) === ZERO)) return -1
  if (at < end && view.getUint8(at) === 46) {
    const fraction = at + 1
    at = skipDigits(view, fraction, end)
    if (at === fraction) return -1
  }
  if (at < end && (view.getUint8(at) | 32) === 101) {
    at++
    if (at < end && (view.getUint8(at) === 43 || view.getUint8(at) === MINUS)) at++
    const exponent = at
    at = skipDigits(view, exponent, end)
    if (at === exponent) return -1
  }
  return at
}

// The four bytes of each literal as one little-endian word; `false` is `f` and `alse`.
const TRUE = 0x65757274
const NULL = 0x6c6c756e
const ALSE = 0x65736c61

/** A number, `true`, `false` or `null`. `first` is the byte at `position`. */
export const skipScalar = (view: DataView, position: number, first: number, end: number): number => {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return skipNumber(view, position, end)
  if (first === 102) return position + 5 <= end && view.getInt32(position + 1, true) === ALSE ? position + 5 : -1
  if (position + 4 > end) return -1
  const word = view.getInt32(position, true)
  return word === TRUE || word === NULL ? position + 4 : -1
}

const SIMPLE_ESCAPE = new Uint8Array(256)
for (const character of '"\\/bfnrt') SIMPLE_ESCAPE[character.charCodeAt(0)] = 1

const isHexDigit = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || ((byte | 32) >= 97 && (byte | 32) <= 102)

/** The escape sequence whose backslash is at `position`. Lone surrogates pass, as in `JSON.parse`. */
export const skipEscape = (view: DataView, position: number, end: number): number => {
  if (position + 2 > end) return -1
  const kind = view.getUint8(position + 1)
  if (SIMPLE_ESCAPE[kind] === 1) return position + 2
  if (kind !== 117 || position + 6 > end) return -1
  for (let at = position + 2; at < position + 6; at++) if (!isHexDigit(view.getUint8(at))) return -1
  return position + 6
}
