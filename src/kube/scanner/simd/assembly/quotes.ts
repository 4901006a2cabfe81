/**
 * Finds the quotes that start and end strings, 64 bytes at a time, and lists their positions.
 *
 * Why a separate pass: if the ends of strings are found one after the other, each search waits for the previous one, about 17 cycles for
 * each of the 190 strings of a Deployment. Blocks do not wait for one another.
 *
 * It accepts only bytes without control characters and with an escape sequence of RFC 8259 after every backslash.
 */
import { positions } from "./layout"

const QUOTE: i8 = 34
const BACKSLASH: i8 = 92
const BLANK: i8 = 32

/**
 * Reads [start, end), which 64 writable bytes follow. Returns the end of the list of positions, or 0 for bytes that only the other pass can
 * judge. An even number of quotes is guaranteed: every string that starts also ends.
 */
export function indexQuotes(start: usize, end: usize): usize {
  // A blank is neither a control character nor a part of compact JSON: it ends every walk.
  const blanks = i8x16.splat(BLANK)
  v128.store(end, blanks)
  v128.store(end, blanks, 16)
  v128.store(end, blanks, 32)
  v128.store(end, blanks, 48)
  const quote = i8x16.splat(QUOTE)
  const backslash = i8x16.splat(BACKSLASH)
  let least = blanks
  let to = positions
  // Bit 0: the first byte of the block belongs to an escape sequence that started in the previous block.
  let carried: u64 = 0
  for (let at = start; at < end; at += 64) {
    const a = v128.load(at)
    const b = v128.load(at, 16)
    const c = v128.load(at, 32)
    const d = v128.load(at, 48)
    least = i8x16.min_u(i8x16.min_u(least, i8x16.min_u(a, b)), i8x16.min_u(c, d))
    let quotes = maskOf(i8x16.eq(a, quote), i8x16.eq(b, quote), i8x16.eq(c, quote), i8x16.eq(d, quote))
    const backA = i8x16.eq(a, backslash)
    const backB = i8x16.eq(b, backslash)
    const backC = i8x16.eq(c, backslash)
    const backD = i8x16.eq(d, backslash)
    if (v128.any_true(v128.or(v128.or(backA, backB), v128.or(backC, backD))) || carried != 0) {
      let escaped = carried
      let rest = maskOf(backA, backB, backC, backD) & ~carried
      carried = 0
      while (rest != 0) {
        const index = ctz(rest)
        if (!isEscape(at + <usize>index)) return 0
        escaped |= (<u64>2) << index
        if (index == 63) carried = 1
        rest &= ~((<u64>3) << index)
      }
      quotes &= ~escaped
    }
    const count = <usize>popcnt(quotes)
    const behind = to + (count << 2)
    // Always eight at once, even if there are fewer: a loop would be mispredicted in every block.
    while (true) {
      store<u32>(to, <u32>at + <u32>ctz(quotes))
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 4)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 8)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 12)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 16)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 20)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 24)
      quotes &= quotes - 1
      store<u32>(to, <u32>at + <u32>ctz(quotes), 28)
      quotes &= quotes - 1
      to += 32
      if (to >= behind) break
    }
    to = behind
  }
  if (i8x16.bitmask(i8x16.lt_u(least, blanks)) != 0) return 0
  return ((to - positions) & 4) == 0 ? to : 0
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function maskOf(a: v128, b: v128, c: v128, d: v128): u64 {
  const low = <u32>i8x16.bitmask(a) | (<u32>i8x16.bitmask(b) << 16)
  const high = <u32>i8x16.bitmask(c) | (<u32>i8x16.bitmask(d) << 16)
  return <u64>low | (<u64>high << 32)
}

/** Whether the backslash at `position` starts an escape sequence. */
function isEscape(position: usize): bool {
  const kind: u32 = load<u8>(position, 1)
  if (kind != 117) {
    // " \ / b f n r t
    return (
      kind == 34 || kind == 92 || kind == 110 || kind == 47 || kind == 98 || kind == 102 || kind == 114 || kind == 116
    )
  }
  return isHex(load<u8>(position, 2)) && isHex(load<u8>(position, 3)) && isHex(load<u8>(position, 4)) && isHex(load<u8>(position, 5))
}

function isHex(byte: u32): bool {
  return byte - 48 <= 9 || (byte | 32) - 97 <= 5
}

/** Whether the string at [start, end) is its own text: it has no escape sequence. */
export function isPlain(start: usize, end: usize): bool {
  for (let at = start; at < end; at += 16) {
    const found = i8x16.bitmask(i8x16.eq(v128.load(at), i8x16.splat(BACKSLASH)))
    if (found != 0) return at + <usize>ctz(found) >= end
  }
  return true
}
