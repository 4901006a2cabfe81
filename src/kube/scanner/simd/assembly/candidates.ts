/**
 * Finds the places where redaction has to look closer: a quote followed by `env`, `ann`, `com`, `arg` or `htt`, the `://` of an address, also
 * with escaped slashes, and escape sequences of the first 256 characters.
 *
 * A cheap test excludes nearly all positions, 64 at a time; all four bytes are compared only where it does not. What is found is judged
 * in TypeScript (redaction/candidates.ts).
 */
import { input, positions } from "./layout"

/** Lists the positions in the `length` bytes, counted from their start, at `positions`; returns how many there are. */
export function findCandidates(length: usize): u32 {
  const end = input + length
  const blanks = i8x16.splat(32)
  // Room for the last block and the three bytes that are read after it.
  for (let offset: usize = 0; offset < 80; offset += 16) v128.store(end + offset, blanks)
  let to = positions
  // In registers: the engine would make a constant anew in every round, which took three times as long as everything else. `none` is 0, which
  // compilers cannot know.
  const none = <i8>(length >> 31)
  const quote = i8x16.splat(34 + none)
  const least = i8x16.splat(9 + none)
  const most = i8x16.splat(8 + none)
  const colon = i8x16.splat(58 + none)
  const slash = i8x16.splat(47 + none)
  const backslash = i8x16.splat(92 + none)
  const letter = i8x16.splat(117 + none)
  for (let at = input; at < end; at += 64) {
    const a = mayBeAt(at, quote, least, most, colon, slash, backslash, letter)
    const b = mayBeAt(at + 16, quote, least, most, colon, slash, backslash, letter)
    const c = mayBeAt(at + 32, quote, least, most, colon, slash, backslash, letter)
    const d = mayBeAt(at + 48, quote, least, most, colon, slash, backslash, letter)
    if (!v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) continue
    const low = <u32>i8x16.bitmask(a) | (<u32>i8x16.bitmask(b) << 16)
    const high = <u32>i8x16.bitmask(c) | (<u32>i8x16.bitmask(d) << 16)
    let rest = <u64>low | (<u64>high << 32)
    while (rest != 0) {
      const place = at + <usize>ctz(rest)
      if (isCandidate(load<u32>(place))) {
        store<u32>(to, <u32>(place - input))
        to += 4
      }
      rest &= rest - 1
    }
  }
  return <u32>((to - positions) >> 2)
}

/**
 * Where a quote is followed by two letters as far apart as in the keys (`en` 9, `co` and `ht` 12, `an` 13, `ar` 17), a colon has a slash two
 * bytes after it, or a backslash a `u` after it.
 */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function mayBeAt(
  at: usize,
  quote: v128,
  least: v128,
  most: v128,
  colon: v128,
  slash: v128,
  backslash: v128,
  letter: v128,
): v128 {
  const first = v128.load(at)
  const second = v128.load(at, 1)
  const third = v128.load(at, 2)
  const apart = i8x16.sub(i8x16.sub(third, second), least)
  const key = v128.and(i8x16.eq(first, quote), i8x16.le_u(apart, most))
  const address = v128.and(i8x16.eq(first, colon), v128.or(i8x16.eq(third, slash), i8x16.eq(third, backslash)))
  const escape = v128.and(i8x16.eq(first, backslash), i8x16.eq(second, letter))
  return v128.or(v128.or(key, address), escape)
}

/** `"env`, `"ann`, `"com`, `"arg`, `"htt`, `\u00`, `:\/\`, `:\//` and `:/\/` as little-endian words, and the three bytes of `://`. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function isCandidate(word: u32): bool {
  return (
    word == 0x766e6522 ||
    word == 0x6e6e6122 ||
    word == 0x6d6f6322 ||
    word == 0x67726122 ||
    word == 0x74746822 ||
    word == 0x3030755c ||
    word == 0x5c2f5c3a ||
    word == 0x2f2f5c3a ||
    word == 0x2f5c2f3a ||
    (word & 0xffffff) == 0x2f2f3a
  )
}
