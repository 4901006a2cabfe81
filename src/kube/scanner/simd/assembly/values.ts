/**
 * Walks over values of compact JSON, using the list of quotes: a string is one step, whatever its length.
 *
 * Returns 0 wherever it finds anything unusual: white space, nesting deeper than 4,096, anything malformed. What it accepts is valid JSON,
 * provided that quotes.ts has accepted the bytes.
 */
import { brackets, deepest } from "./layout"

const QUOTE: u32 = 34
const COMMA: u32 = 44
const COLON: u32 = 58
const MINUS: u32 = 45
const ZERO: u32 = 48
const POINT: u32 = 46
const OPEN_BRACKET: u32 = 91
const CLOSE_BRACKET: u32 = 93
const OPEN_BRACE: u32 = 123
const CLOSE_BRACE: u32 = 125

/** The entry of the next quote that starts a string. */
let next: usize = 0

/** Continues with the quotes from `entry` of the list. */
export function beginAt(entry: usize): void {
  next = entry
}

/** Consumes the string whose first quote is the next one; returns the position of its last quote. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
export function takeString(): usize {
  const end = <usize>load<u32>(next, 4)
  next += 8
  return end
}

/** The end of the value that starts at `position`. */
export function skipValue(position: usize): usize {
  let at = position
  let quote = next
  let depth: usize = 0
  /** The byte that closes the surrounding array or object; in an object members have keys. */
  let closing: u32 = 0
  let byte: u32 = load<u8>(at)
  while (true) {
    if (byte == QUOTE) {
      at = <usize>load<u32>(quote, 4) + 1
      quote += 8
    } else if (byte == OPEN_BRACE) {
      byte = load<u8>(++at)
      if (byte == QUOTE) {
        if (depth == deepest) return 0
        store<u8>(brackets + depth++, <u8>closing)
        closing = CLOSE_BRACE
        at = <usize>load<u32>(quote, 4) + 1
        quote += 8
        if (<u32>load<u8>(at) != COLON) return 0
        byte = load<u8>(++at)
        continue
      }
      if (byte != CLOSE_BRACE) return 0
      at++
    } else if (byte == OPEN_BRACKET) {
      byte = load<u8>(++at)
      if (byte != CLOSE_BRACKET) {
        if (depth == deepest) return 0
        store<u8>(brackets + depth++, <u8>closing)
        closing = CLOSE_BRACKET
        continue
      }
      at++
    } else {
      at = skipScalar(at, byte)
      if (at == 0) return 0
    }
    while (true) {
      if (depth == 0) {
        next = quote
        return at
      }
      byte = load<u8>(at++)
      if (byte == COMMA) {
        byte = load<u8>(at)
        if (closing == CLOSE_BRACE) {
          if (byte != QUOTE) return 0
          at = <usize>load<u32>(quote, 4) + 1
          quote += 8
          if (<u32>load<u8>(at) != COLON) return 0
          byte = load<u8>(++at)
        }
        break
      }
      if (byte != closing) return 0
      closing = load<u8>(brackets + --depth)
    }
  }
}

/** A number, `true`, `false` or `null` whose first byte is given. */
function skipScalar(position: usize, first: u32): usize {
  if (first == 116) return load<u32>(position) == 0x65757274 ? position + 4 : 0
  if (first == 110) return load<u32>(position) == 0x6c6c756e ? position + 4 : 0
  if (first == 102) return load<u32>(position, 1) == 0x65736c61 ? position + 5 : 0
  let at = first == MINUS ? position + 1 : position
  let byte: u32 = load<u8>(at)
  if (byte == ZERO) byte = load<u8>(++at)
  else {
    const digits = at
    at = skipDigits(at)
    if (at == digits) return 0
    byte = load<u8>(at)
  }
  if (byte == POINT) {
    const digits = at + 1
    at = skipDigits(digits)
    if (at == digits) return 0
    byte = load<u8>(at)
  }
  if ((byte | 32) == 101) {
    byte = load<u8>(++at)
    if (byte == 43 || byte == MINUS) at++
    const digits = at
    at = skipDigits(at)
    if (at == digits) return 0
  }
  return at
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function skipDigits(position: usize): usize {
  let at = position
  while (<u32>load<u8>(at) - ZERO <= 9) at++
  return at
}
