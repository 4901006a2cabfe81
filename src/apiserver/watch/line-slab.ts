/**
 * Memory for watch lines. They live long and are most of what a server holds, so they share slabs with nothing else: a body
 * or an answer that is gone would leave its place unused for as long as a line beside it lives. Node's own pool also gives
 * up a slab with a fifth of it left (12 lines of 4.3 kB in 64 KiB instead of 15).
 */

/** Bytes. A line keeps its whole slab alive, so at worst that many for each. */
const slabBytes = 64 * 1024

let slab = Buffer.allocUnsafeSlow(slabBytes)
let used = 0

/** UTF-8 of `text`, which takes `bytes`. A long one gets memory of its own. */
export const lineBytes = (text: string, bytes: number): Buffer => {
  if (bytes > slabBytes / 4) {
    const own = Buffer.allocUnsafeSlow(bytes)
    own.write(text)
    return own
  }
  if (used + bytes > slabBytes) {
    slab = Buffer.allocUnsafeSlow(slabBytes)
    used = 0
  }
  const start = used
  used += bytes
  slab.write(text, start, bytes)
  return slab.subarray(start, used)
}
