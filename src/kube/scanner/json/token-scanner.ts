/**
 * Finds the end of a JSON value that may arrive in pieces, by brackets and strings alone. The receiver of the value
 * checks it.
 */

const QUOTE = 34
const COMMA = 44
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export class TokenScanner {
  private depth = 0
  private scalar = false
  private inString = false
  /** The last byte was a backslash in a string: the next one is escaped. */
  private escaped = false

  /** A value starts; `first` is its first byte, which is passed to {@link skip} again. */
  begin(first: number): void {
    this.depth = 0
    this.scalar = first !== QUOTE && (first | 32) !== OPEN_BRACE
    this.inString = false
    this.escaped = false
  }

  /**
   * Continues through bytes [position, end) of the value.
   *
   * @returns the position after the value, or -1 if it continues after `end`
   */
  skip(view: DataView, position: number, end: number): number {
    if (this.scalar) return skipScalar(view, position, end)
    let at = position
    let depth = this.depth
    let inString = this.inString
    if (this.escaped && at < end) {
      at++
      this.escaped = false
    }
    while (at < end) {
      if (inString) {
        at = afterString(view, at, end)
        if (at < 0) {
          this.escaped = at === ESCAPED
          break
        }
        if (depth === 0) return at
        inString = false
        if (at === end) break
      }
      const byte = view.getUint8(at++)
      if (byte === QUOTE) inString = true
      else {
        // `[` and `]` differ from `{` and `}` by one bit.
        const bracket = byte | 32
        if (bracket === OPEN_BRACE) depth++
        else if (bracket === CLOSE_BRACE && --depth <= 0) return at
      }
    }
    this.depth = depth
    this.inString = inString
    return -1
  }
}

/** The string continues after the chunk, which ended with a backslash. */
const ESCAPED = -2

/** From inside a string to the position after its closing quote; -1 or {@link ESCAPED} if it continues after `end`. */
const afterString = (view: DataView, position: number, end: number): number => {
  const limit = end - 4
  let at = position
  for (;;) {
    // Four bytes at a time to the next quote or backslash, as in json-bytes.ts.
    let found = 0
    while (at <= limit) {
      const word = view.getInt32(at, true)
      const quotes = word ^ 0x22222222
      const backslashes = word ^ 0x5c5c5c5c
      found = (((quotes - 0x01010101) & ~quotes) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080
      if (found !== 0) break
      at += 4
    }
    if (found !== 0) at += (31 - Math.clz32(found & -found)) >>> 3
    else if (at >= end) return -1
    const byte = view.getUint8(at)
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) at++
    else {
      at += 2
      if (at > end) return ESCAPED
    }
  }
}

/** A number or literal ends before the first byte that cannot be part of one. */
const skipScalar = (view: DataView, position: number, end: number): number => {
  for (let at = position; at < end; at++) {
    const byte = view.getUint8(at)
    if (byte <= 32 || byte === COMMA || (byte | 32) === CLOSE_BRACE) return at
  }
  return -1
}
