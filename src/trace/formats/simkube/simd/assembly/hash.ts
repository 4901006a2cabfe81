/** H of an encoded value, as simkube-hash.ts computes it. */
import { hash, stream, streamEnd } from "./layout"

/** Hashes the value at [start, end) of the output and stores H at `hash`. False if the stream has no room for it. */
export function hashValue(start: usize, end: usize): bool {
  let at = start
  let to = stream
  while (at < end) {
    // A scalar needs at most 8 bytes, a string one more than its text.
    if (to + 16 > streamEnd) return false
    const type = <u32>load<u8>(at)
    if (type < 0x80) {
      store<u64>(to, <u64>type)
      to += 8
      at++
    } else if (type < 0xa0) at++
    else if (type < 0xc0 || (type >= 0xd9 && type <= 0xdb)) {
      let length = <usize>(type & 0x1f)
      at++
      if (type == 0xd9) length = <usize>load<u8>(at++)
      else if (type == 0xda) {
        length = <usize>bswap<u16>(load<u16>(at))
        at += 2
      } else if (type == 0xdb) {
        length = <usize>bswap<u32>(load<u32>(at))
        at += 4
      }
      if (to + length + 32 > streamEnd) return false
      for (let index: usize = 0; index < length; index += 16) v128.store(to + index, v128.load(at + index))
      to += length
      at += length
      store<u8>(to++, 0xff)
    } else if (type >= 0xe0) {
      store<i64>(to, <i64>type - 0x100)
      to += 8
      at++
    } else if (type == 0xc2 || type == 0xc3) {
      store<u8>(to++, <u8>(type & 1))
      at++
    } else if (type == 0xdc || type == 0xde) at += 3
    else {
      store<u64>(to, integerAt(at, type))
      to += 8
      at += type == 0xc0 ? 1 : (type & 3) == 0 ? 2 : (type & 3) == 1 ? 3 : (type & 3) == 2 ? 5 : 9
    }
  }
  store<u64>(hash, sipHash13(stream, to - stream))
  return true
}

/** H of an object without spec, which is that of null. */
export function hashNothing(): void {
  store<u64>(stream, 0)
  store<u64>(hash, sipHash13(stream, 8))
}

/** Null, or the integer of that type: 1, 2, 4 or 8 bytes, unsigned (CC–CF) or signed (D0–D3). */
function integerAt(at: usize, type: u32): u64 {
  if (type == 0xcc) return <u64>load<u8>(at, 1)
  if (type == 0xcd) return <u64>bswap<u16>(load<u16>(at, 1))
  if (type == 0xce) return <u64>bswap<u32>(load<u32>(at, 1))
  if (type == 0xd0) return <u64>(<i64>load<i8>(at, 1))
  if (type == 0xd1) return <u64>(<i64>(<i16>bswap<u16>(load<u16>(at, 1))))
  if (type == 0xd2) return <u64>(<i64>(<i32>bswap<u32>(load<u32>(at, 1))))
  return type == 0xc0 ? 0 : bswap<u64>(load<u64>(at, 1))
}

let v0: u64 = 0
let v1: u64 = 0
let v2: u64 = 0
let v3: u64 = 0

/** Overwrites the bytes after the text. */
function sipHash13(start: usize, length: usize): u64 {
  v0 = 0x736f6d6570736575
  v1 = 0x646f72616e646f6d
  v2 = 0x6c7967656e657261
  v3 = 0x7465646279746573
  const end = start + (length & ~7)
  store<u64>(start + length, 0)
  for (let at = start; at < end; at += 8) {
    const word = load<u64>(at)
    v3 ^= word
    round()
    v0 ^= word
  }
  const last = load<u64>(end) | (<u64>length << 56)
  v3 ^= last
  round()
  v0 ^= last
  v2 ^= 0xff
  round()
  round()
  round()
  return v0 ^ v1 ^ v2 ^ v3
}

// @ts-expect-error: a decorator of AssemblyScript
@inline
function round(): void {
  v0 += v1
  v1 = rotl<u64>(v1, 13) ^ v0
  v0 = rotl<u64>(v0, 32)
  v2 += v3
  v3 = rotl<u64>(v3, 16) ^ v2
  v0 += v3
  v3 = rotl<u64>(v3, 21) ^ v0
  v2 += v1
  v1 = rotl<u64>(v1, 17) ^ v2
  v2 = rotl<u64>(v2, 32)
}
