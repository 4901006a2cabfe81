/**
 * Memory for watch lines. They are long-lived and most of a server's memory, so they share slabs with nothing else: a freed
 * body or response would leave its space unused for as long as a line beside it lives. Node's own pool also leaves up to a
 * fifth of a slab unused (12 lines of 4.3 kB in 64 KiB instead of 15).
 */

/** Bytes. A line keeps its whole slab alive, so at worst each line costs this much. */
const slabBytes = 64 * 1024

let slab = Buffer.allocUnsafeSlow(slabBytes)
let used = 0

/** UTF-8 of `text`, whose length is `bytes`. A long line gets its own memory. */
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
