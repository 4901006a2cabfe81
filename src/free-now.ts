/**
 * Frees the memory of a buffer without waiting for the garbage collector. V8 counts such memory for each thread by itself, and lets some 64 MB become
 * garbage before it looks.
 */

/**
 * The buffer, and every other view of its memory, is empty afterwards; reading one by `DataView` throws. So it must be known that nothing uses it any more,
 * and that it shares its memory with nothing else.
 */
export const freeNow = ({ buffer, byteLength }: Uint8Array): void => {
  if (buffer instanceof ArrayBuffer && byteLength > 0) buffer.transfer(0)
}
