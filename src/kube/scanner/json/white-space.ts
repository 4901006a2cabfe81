/** White space between JSON tokens: servers and proxies may add it, and it must not look like a change. */

/** The four characters of RFC 8259. */
export const isWhiteSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/**
 * Copies valid JSON from [start, end) of `source` to `target` starting at `offset`, without the white space outside strings.
 *
 * @param target has room for `end - start` bytes after `offset`
 * @returns the position in `target` after the last byte written
 */
export const copyWithoutWhiteSpace = (
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  offset: number,
): number => {
  let to = offset
  let inString = false
  for (let from = start; from < end; from++) {
    const byte = source[from] as number
    if (inString) {
      target[to++] = byte
      if (byte === 92) target[to++] = source[++from] as number
      else if (byte === 34) inString = false
    } else if (!isWhiteSpace(byte)) {
      target[to++] = byte
      inString = byte === 34
    }
  }
  return to
}
