/**
 * SipHash-1-3 with the key (0, 0): the function of Rust's `DefaultHasher`, which SimKube therefore stores in its traces.
 *
 * 64-bit words are pairs of 32-bit integers: BigInt arithmetic would allocate for every addition (several hundred times slower). A checksum
 * against accidents, not a protection against attackers: the key is public.
 */

/** Halves of a 64-bit hash, as unsigned 32-bit integers. Filled by {@link sipHash13}. */
export interface HashHalves {
  low: number
  high: number
}

/**
 * Hashes `length` bytes from the start of `words`' buffer, 8 bytes at a time.
 *
 * `words` must be a view from offset 0 of a little-endian machine's memory and reach at least 7 bytes past `length`; those bytes may have
 * any value. The result is written into `result`, so that no object is created per hash.
 */
export const sipHash13 = (words: Int32Array, length: number, result: HashHalves): void => {
  // "somepseudorandomlygeneratedbytes", the constants of the SipHash paper.
  let v0h = 0x736f6d65
  let v0l = 0x70736575
  let v1h = 0x646f7261
  let v1l = 0x6e646f6d
  let v2h = 0x6c796765
  let v2l = 0x6e657261
  let v3h = 0x74656462
  let v3l = 0x79746573
  const blocks = length >>> 3
  // One iteration per 8 bytes, one for the last word (the remaining bytes, and the length modulo 256 in its top byte), three to finish.
  for (let turn = 0; turn < blocks + 4; turn++) {
    let wordLow = 0
    let wordHigh = 0
    if (turn < blocks) {
      wordLow = words[2 * turn] as number
      wordHigh = words[2 * turn + 1] as number
    } else if (turn === blocks) {
      const left = length & 7
      if (left > 0) wordLow = (words[2 * turn] as number) & (left >= 4 ? -1 : (1 << (8 * left)) - 1)
      if (left > 4) wordHigh = (words[2 * turn + 1] as number) & ((1 << (8 * (left - 4))) - 1)
      wordHigh |= length << 24
    } else if (turn === blocks + 1) {
      v2l ^= 0xff
    }
    v3l ^= wordLow
    v3h ^= wordHigh

    let low = (v0l + v1l) | 0
    v0h = (v0h + v1h + (low >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
    v0l = low
    let old = v1l
    v1l = ((v1l << 13) | (v1h >>> 19)) ^ v0l
    v1h = ((v1h << 13) | (old >>> 19)) ^ v0h
    old = v0l
    v0l = v0h
    v0h = old

    low = (v2l + v3l) | 0
    v2h = (v2h + v3h + (low >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
    v2l = low
    old = v3l
    v3l = ((v3l << 16) | (v3h >>> 16)) ^ v2l
    v3h = ((v3h << 16) | (old >>> 16)) ^ v2h

    low = (v0l + v3l) | 0
    v0h = (v0h + v3h + (low >>> 0 < v3l >>> 0 ? 1 : 0)) | 0
    v0l = low
    old = v3l
    v3l = ((v3l << 21) | (v3h >>> 11)) ^ v0l
    v3h = ((v3h << 21) | (old >>> 11)) ^ v0h

    low = (v2l + v1l) | 0
    v2h = (v2h + v1h + (low >>> 0 < v1l >>> 0 ? 1 : 0)) | 0
    v2l = low
    old = v1l
    v1l = ((v1l << 17) | (v1h >>> 15)) ^ v2l
    v1h = ((v1h << 17) | (old >>> 15)) ^ v2h
    old = v2l
    v2l = v2h
    v2h = old

    v0l ^= wordLow
    v0h ^= wordHigh
  }
  result.low = (v0l ^ v1l ^ v2l ^ v3l) >>> 0
  result.high = (v0h ^ v1h ^ v2h ^ v3h) >>> 0
}
