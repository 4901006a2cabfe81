/**
 * Finds the places where redaction has to look closer: a quote followed by `env` or `ann`, and escape sequences of the first 256 characters.
 *
 * Looks for two of the four bytes, 64 positions at a time, and checks the other two only where these are; what is found is judged in
 * TypeScript (redaction/candidates.ts).
 */
import { input, positions } from "./layout"

/** Lists the positions in the `length` bytes, counted from their start, at `positions`; returns how many there are. */
export function findCandidates(length: usize): u32 {
  const end = input + length
  const blanks = i8x16.splat(32)
  // Room for the last block and the three bytes that are read after it.
  for (let offset: usize = 0; offset < 80; offset += 16) v128.store(end + offset, blanks)
  let to = positions
  for (let at = input; at < end; at += 64) {
    const a = mayBeAt(at)
    const b = mayBeAt(at + 16)
    const c = mayBeAt(at + 32)
    const d = mayBeAt(at + 48)
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

/** Where a quote has an `n` two bytes after it, or a backslash a `u` after it. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function mayBeAt(at: usize): v128 {
  const first = v128.load(at)
  const key = v128.and(i8x16.eq(first, i8x16.splat(34)), i8x16.eq(v128.load(at, 2), i8x16.splat(110)))
  const escape = v128.and(i8x16.eq(first, i8x16.splat(92)), i8x16.eq(v128.load(at, 1), i8x16.splat(117)))
  return v128.or(key, escape)
}

/** `"env`, `"ann` and `\u00` as little-endian words. */
// @ts-expect-error: a decorator of AssemblyScript
@inline
function isCandidate(word: u32): bool {
  return word == 0x766e6522 || word == 0x6e6e6122 || word == 0x3030755c
}
