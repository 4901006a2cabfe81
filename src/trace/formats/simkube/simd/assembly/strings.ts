/** Copies JSON strings as MessagePack strings: found, checked and copied in one pass, 16 bytes at a time. */

const QUOTE: u32 = 34
const BACKSLASH: u32 = 92

/** Position in the input after the last string's closing quote. */
export let afterString: usize = 0

/** Length of the last string in bytes of UTF-8. */
export let textLength: usize = 0

/**
 * Copies the string whose opening quote is before `from` to `to`, header first. Returns the end of the output, or 0 for what another pass
 * must judge: control characters, surrogates, bytes that are not UTF-8, no end. Zeros after the input end every string.
 */
export function copyString(from: usize, to: usize): usize {
  const text = to + 1
  let at = from
  let end = text
  while (true) {
    const block = v128.load(at)
    v128.store(end, block)
    // Quotes, backslashes, control characters, and everything beyond ASCII.
    const special = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(34)), i8x16.eq(block, i8x16.splat(92))),
      i8x16.lt_s(block, i8x16.splat(32)),
    )
    const found = i8x16.bitmask(special)
    if (found == 0) {
      at += 16
      end += 16
      continue
    }
    const plain = <usize>ctz(found)
    at += plain
    end += plain
    const byte = <u32>load<u8>(at)
    if (byte == QUOTE) break
    const taken = byte == BACKSLASH ? copyEscape(at, end) : copyBeyondAscii(at, end)
    if (taken == 0) return 0
    at += taken >> 8
    end += taken & 0xff
  }
  afterString = at + 1
  textLength = end - text
  return withHeader(to, textLength)
}

/** Puts the header before a text of that length. The text is one byte after `to` and moves if the header is longer. */
function withHeader(to: usize, length: usize): usize {
  if (length < 32) {
    store<u8>(to, 0xa0 | <u8>length)
    return to + 1 + length
  }
  if (length < 0x100) {
    memory.copy(to + 2, to + 1, length)
    store<u16>(to, 0xd9 | ((<u16>length) << 8))
    return to + 2 + length
  }
  if (length < 0x10000) {
    memory.copy(to + 3, to + 1, length)
    store<u8>(to, 0xda)
    store<u16>(to, bswap<u16>(<u16>length), 1)
    return to + 3 + length
  }
  memory.copy(to + 5, to + 1, length)
  store<u8>(to, 0xdb)
  store<u32>(to, bswap<u32>(<u32>length), 1)
  return to + 5 + length
}

/** Copies an escape sequence as UTF-8. Returns the bytes read, times 256, plus the bytes written; 0 for an unknown sequence. */
function copyEscape(at: usize, to: usize): usize {
  const kind = <u32>load<u8>(at, 1)
  if (kind == 117) return copyCodeUnit(at, to)
  let byte: u32 = 0
  if (kind == QUOTE || kind == BACKSLASH || kind == 47) byte = kind
  else if (kind == 110) byte = 10
  else if (kind == 116) byte = 9
  else if (kind == 114) byte = 13
  else if (kind == 98) byte = 8
  else if (kind == 102) byte = 12
  else return 0
  store<u8>(to, <u8>byte)
  return 0x201
}

function copyCodeUnit(at: usize, to: usize): usize {
  const unit = (hexOf(load<u8>(at, 2)) << 12) | (hexOf(load<u8>(at, 3)) << 8) | (hexOf(load<u8>(at, 4)) << 4) | hexOf(load<u8>(at, 5))
  if (unit > 0xffff || (unit >= 0xd800 && unit < 0xe000)) return 0
  if (unit < 0x80) {
    store<u8>(to, <u8>unit)
    return 0x601
  }
  if (unit < 0x800) {
    store<u8>(to, <u8>(0xc0 | (unit >> 6)))
    store<u8>(to, <u8>(0x80 | (unit & 0x3f)), 1)
    return 0x602
  }
  store<u8>(to, <u8>(0xe0 | (unit >> 12)))
  store<u8>(to, <u8>(0x80 | ((unit >> 6) & 0x3f)), 1)
  store<u8>(to, <u8>(0x80 | (unit & 0x3f)), 2)
  return 0x603
}

/** More than 16 bits for a byte that is not a hexadecimal digit, whatever the shift. */
function hexOf(byte: u32): u32 {
  if (byte - 48 <= 9) return byte - 48
  const letter = (byte | 32) - 97
  return letter <= 5 ? letter + 10 : 0x10000
}

/** Copies one multi-byte character, if it is well-formed UTF-8 (RFC 3629 §4); returns like {@link copyEscape}. */
function copyBeyondAscii(at: usize, to: usize): usize {
  const first = <u32>load<u8>(at)
  const second = <u32>load<u8>(at, 1)
  if (first < 0xc2 || (second & 0xc0) != 0x80) return 0
  store<u8>(to, <u8>first)
  store<u8>(to, <u8>second, 1)
  if (first < 0xe0) return 0x202
  const third = <u32>load<u8>(at, 2)
  if ((third & 0xc0) != 0x80) return 0
  store<u8>(to, <u8>third, 2)
  if (first < 0xf0) return (first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ? 0 : 0x303
  const fourth = <u32>load<u8>(at, 3)
  if (first > 0xf4 || (fourth & 0xc0) != 0x80) return 0
  store<u8>(to, <u8>fourth, 3)
  return (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ? 0 : 0x404
}

/** The position after the string whose opening quote is before `from`; 0 if it does not end. Its contents are not checked. */
export function skipString(from: usize): usize {
  let at = from
  while (true) {
    const block = v128.load(at)
    const special = v128.or(
      v128.or(i8x16.eq(block, i8x16.splat(34)), i8x16.eq(block, i8x16.splat(92))),
      i8x16.eq(block, i8x16.splat(0)),
    )
    const found = i8x16.bitmask(special)
    if (found == 0) {
      at += 16
      continue
    }
    at += <usize>ctz(found)
    const byte = <u32>load<u8>(at)
    if (byte == QUOTE) return at + 1
    if (byte != BACKSLASH) return 0
    at += 2
  }
}
