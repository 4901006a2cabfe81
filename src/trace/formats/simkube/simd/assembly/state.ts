/**
 * A hash of an encoded object, to recognize a state that equals the one before. Two words of 64 bits that take alternating words of the
 * input and affect each other; not against an attacker, who could only leave out changes of objects that are his own.
 */
import { state } from "./layout"

const LEFT: u64 = 0x9fb21c651e98df25
const RIGHT: u64 = 0xd6e8feb86659fd93

/** Hashes [start, end) of the output and stores 16 bytes at `state`. Overwrites the 16 bytes after `end`. */
export function hashState(start: usize, end: usize): void {
  const zeros = i64x2.splat(0)
  v128.store(end, zeros)
  let left: u64 = LEFT ^ <u64>(end - start)
  let right: u64 = RIGHT
  for (let at = start; at < end; at += 16) {
    left = rotl<u64>((left ^ load<u64>(at)) * LEFT, 29) + right
    right = rotl<u64>((right ^ load<u64>(at, 8)) * RIGHT, 31) ^ left
  }
  store<u64>(state, mixed(left + rotl<u64>(right, 32)))
  store<u64>(state, mixed(right ^ rotl<u64>(left, 17)), 8)
}

/** Every bit of the result depends on every bit of the word (SplitMix64). */
function mixed(word: u64): u64 {
  let bits = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb
  return bits ^ (bits >> 31)
}
