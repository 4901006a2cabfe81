/**
 * The structural pass of json-bytes.ts for the usual case, in WebAssembly with SIMD: 16 bytes of a string at a time.
 *
 * AssemblyScript, not TypeScript: built by scripts/simd.ts into ../simd-module.ts, which names the source it was built from.
 *
 * Answers 0 wherever it meets anything unusual, and then the TypeScript pass decides: white space, an escape sequence other
 * than `\"`, a number with fraction or exponent, nesting deeper than 4,096, anything malformed. So what it does accept must
 * be valid JSON, and nothing else must be right here. The bytes must be followed by a zero byte, which is never part of JSON:
 * it ends every loop.
 */

/** One byte per open bracket: whether it is a brace. Memory from 0 on is theirs. */
const deepest: usize = 4096

const QUOTE: u32 = 34
const BACKSLASH: u32 = 92
const COMMA: u32 = 44
const COLON: u32 = 58
const MINUS: u32 = 45
const ZERO: u32 = 48
const NINE: u32 = 57
const POINT: u32 = 46
const OPEN_BRACKET: u32 = 91
const CLOSE_BRACKET: u32 = 93
const OPEN_BRACE: u32 = 123
const CLOSE_BRACE: u32 = 125

/** Where a value ends that begins at `position`; 0 for "ask the other pass". */
export function skipValue(position: usize): usize {
  let at = position
  let depth: usize = 0
  let inObject: u32 = 0
  let byte: u32 = load<u8>(at)
  while (true) {
    if (byte == QUOTE) {
      at = skipString(at + 1)
      if (at == 0) return 0
    } else if (byte == OPEN_BRACE || byte == OPEN_BRACKET) {
      const opened = byte
      byte = load<u8>(++at)
      if (byte == opened + 2) at++
      else {
        if (depth == deepest) return 0
        store<u8>(depth++, <u8>inObject)
        inObject = opened == OPEN_BRACE ? 1 : 0
        if (inObject) {
          at = skipKey(at, byte)
          if (at == 0) return 0
          byte = load<u8>(at)
        }
        continue
      }
    } else {
      at = skipScalar(at, byte)
      if (at == 0) return 0
    }
    while (true) {
      if (depth == 0) return at
      byte = load<u8>(at)
      if (byte == COMMA) {
        byte = load<u8>(++at)
        if (inObject) {
          at = skipKey(at, byte)
          if (at == 0) return 0
          byte = load<u8>(at)
        }
        break
      }
      if (byte != (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return 0
      at++
      inObject = load<u8>(--depth)
    }
  }
}

/** From the first byte of a string's content to behind its closing quote, or 0. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function skipString(position: usize): usize {
  let at = position
  while (true) {
    const bytes = v128.load(at)
    const quotes = i8x16.eq(bytes, i8x16.splat(<i8>QUOTE))
    const backslashes = i8x16.eq(bytes, i8x16.splat(<i8>BACKSLASH))
    const found = i8x16.bitmask(v128.or(v128.or(quotes, backslashes), i8x16.lt_u(bytes, i8x16.splat(32))))
    if (found == 0) {
      at += 16
      continue
    }
    at += ctz(found)
    if (load<u8>(at) == QUOTE) return at + 1
    if (load<u8>(at) != BACKSLASH || load<u8>(at + 1) != QUOTE) return 0
    at += 2
  }
}

/** From the first byte of a key, which should be its quote, to behind its colon, or 0. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function skipKey(position: usize, byte: u32): usize {
  if (byte != QUOTE) return 0
  const at = skipString(position + 1)
  return at == 0 || load<u8>(at) != COLON ? 0 : at + 1
}

/** An integer, `true`, `false` or `null` whose first byte is given, or 0. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function skipScalar(position: usize, first: u32): usize {
  if (first == 116) return load<u32>(position) == 0x65757274 ? position + 4 : 0
  if (first == 110) return load<u32>(position) == 0x6c6c756e ? position + 4 : 0
  if (first == 102) return load<u32>(position + 1) == 0x65736c61 ? position + 5 : 0
  let at = first == MINUS ? position + 1 : position
  let byte: u32 = load<u8>(at)
  if (byte == ZERO) byte = load<u8>(++at)
  else {
    if (byte < ZERO || byte > NINE) return 0
    do byte = load<u8>(++at)
    while (byte >= ZERO && byte <= NINE)
    if (byte == POINT || (byte | 32) == 101) return 0
    return at
  }
  return (byte >= ZERO && byte <= NINE) || byte == POINT || (byte | 32) == 101 ? 0 : at
}
