/**
 * The structural pass: walks over JSON values in a buffer without building objects.
 *
 * Guaranteed: a value walked over is valid JSON (RFC 8259) as `JSON.parse` defines it, whatever its white space and depth; no byte at or
 * after `end` affects the result; time is linear. Not checked: UTF-8 (decoding replaces bad sequences, here as in
 * `JSON.parse(buffer.toString())`).
 *
 * Checks for white space only where nothing else fits, so compact JSON never pays for it.
 */

const MINUS = 45
const ZERO = 48
const NINE = 57

/** The position after the digits that start at `position`; `position` itself if there are none. */
const skipDigits = (view: DataView, position: number, end: number): number => {
  let at = position
  while (at < end) {
    const byte = view.getUint8(at)
    if (byte < ZERO || byte > NINE) break
    at++
  }
  return at
}

/** A whole number: optional minus, no leading zeros, optional fraction and exponent. */
const skipNumber = (view: DataView, position: number, end: number): number => {
  const integer = view.getUint8(position) === MINUS ? position + 1 : position
  let at = skipDigits(view, integer, end)
  if (at === integer || (at > integer + 1 && view.getUint8(integer) === ZERO)) return -1
  if (at < end && view.getUint8(at) === 46) {
    const fraction = at + 1
    at = skipDigits(view, fraction, end)
    if (at === fraction) return -1
  }
  if (at < end && (view.getUint8(at) | 32) === 101) {
    at++
    if (at < end && (view.getUint8(at) === 43 || view.getUint8(at) === MINUS)) at++
    const exponent = at
    at = skipDigits(view, exponent, end)
    if (at === exponent) return -1
  }
  return at
}

// The four bytes of each literal as one little-endian word; `false` is `f` and `alse`.
const TRUE = 0x65757274
const NULL = 0x6c6c756e
const ALSE = 0x65736c61

/** A number, `true`, `false` or `null`. `first` is the byte at `position`. */
const skipScalar = (view: DataView, position: number, first: number, end: number): number => {
  if (first === MINUS || (first >= ZERO && first <= NINE)) return skipNumber(view, position, end)
  if (first === 102) return position + 5 <= end && view.getInt32(position + 1, true) === ALSE ? position + 5 : -1
  if (position + 4 > end) return -1
  const word = view.getInt32(position, true)
  return word === TRUE || word === NULL ? position + 4 : -1
}

const SIMPLE_ESCAPE = new Uint8Array(256)
for (const character of '"\\/bfnrt') SIMPLE_ESCAPE[character.charCodeAt(0)] = 1

const isHexDigit = (byte: number): boolean =>
  (byte >= ZERO && byte <= NINE) || ((byte | 32) >= 97 && (byte | 32) <= 102)

/** The escape sequence whose backslash is at `position`. Lone surrogates pass, as in `JSON.parse`. */
const skipEscape = (view: DataView, position: number, end: number): number => {
  if (position + 2 > end) return -1
  const kind = view.getUint8(position + 1)
  if (SIMPLE_ESCAPE[kind] === 1) return position + 2
  if (kind !== 117 || position + 6 > end) return -1
  for (let at = position + 2; at < position + 6; at++) if (!isHexDigit(view.getUint8(at))) return -1
  return position + 6
}

// White space between JSON tokens: servers and proxies may add it, and it must not look like a change.

/** The four characters of RFC 8259. */
export const isWhiteSpace = (byte: number): boolean => byte === 32 || byte === 10 || byte === 13 || byte === 9

/**
 * Copies valid JSON from [start, end) of `source` to `target` from `offset` on, without white space outside strings.
 * Returns the position after it.
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
    const byte = source[from] ?? 0
    if (inString) {
      target[to++] = byte
      if (byte === 92) target[to++] = source[++from] ?? 0
      else if (byte === 34) inString = false
    } else if (!isWhiteSpace(byte)) {
      target[to++] = byte
      inString = byte === 34
    }
  }
  return to
}

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

/** A cursor over a range of JSON that ends in `}` or `]`. Reused for every event; keeps the last buffer alive. */
export class JsonBytes {
  bytes: Buffer = Buffer.alloc(0)
  /** The same memory as `bytes`. Made once per buffer, not per event. */
  view: DataView = new DataView(new ArrayBuffer(0))
  end = 0
  /** Set when a walk passes white space outside a string; the caller clears it. */
  spaced = false
  private nesting = new Uint8Array(256)

  /**
   * Points the cursor at bytes that end at `end` (exclusive). The last byte must be `}` or `]`: because no string, number or separator can
   * end there, the loops below need no check of `end` after each of them.
   *
   * @returns false if the last byte is another one; then nothing may be walked.
   */
  load(bytes: Buffer, end: number): boolean {
    if (end < 1 || end > bytes.length) return false
    if (bytes !== this.bytes) {
      this.bytes = bytes
      this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    }
    this.end = end
    return (this.view.getUint8(end - 1) | 32) === CLOSE_BRACE
  }

  /** The first position at or after `position` that is not white space; at most `end`. */
  skipSpace(position: number): number {
    const view = this.view
    const end = this.end
    let at = position
    while (at < end) {
      const byte = view.getUint8(at)
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) break
      at++
    }
    if (at !== position) this.spaced = true
    return at
  }

  /** From the first byte of a string's content to the position after its closing quote, or -1. */
  skipString(position: number): number {
    return skipString(this.view, position, this.end)
  }

  /** The same for a string whose bytes are its text: -1 also if it has an escape sequence. */
  skipPlainString(position: number): number {
    return skipPlainString(this.view, position, this.end)
  }

  /** The position after the colon that follows a key ending at `position`, and after white space around it; -1 without a colon. */
  skipColon(position: number): number {
    const view = this.view
    let at = position
    if (view.getUint8(at) !== COLON) {
      at = this.skipSpace(at)
      if (at >= this.end || view.getUint8(at) !== COLON) return -1
    }
    at++
    return view.getUint8(at) <= 32 ? this.skipSpace(at) : at
  }

  /**
   * Walks over one value from `position`, its first byte, below `end`. Returns the position after it, or -1 if it is
   * not valid JSON or does not end before `end`.
   */
  skipValue(position: number): number {
    const view = this.view
    const end = this.end
    let nesting = this.nesting
    let depth = 0
    let inObject = 0
    let at = position
    let byte = view.getUint8(at)
    for (;;) {
      if (byte === QUOTE) {
        at = skipString(view, at + 1, end)
        if (at < 0) return -1
      } else if (byte === OPEN_BRACE) {
        byte = view.getUint8(++at)
        if (byte <= 32) {
          at = this.skipSpace(at)
          byte = view.getUint8(at)
        }
        if (byte !== CLOSE_BRACE) {
          if (byte !== QUOTE) return -1
          if (depth === nesting.length) nesting = this.deepen()
          nesting[depth++] = inObject
          inObject = 1
          at = this.skipKey(view, at, end)
          if (at < 0) return -1
          byte = view.getUint8(at)
          continue
        }
        at++
      } else if (byte === OPEN_BRACKET) {
        byte = view.getUint8(++at)
        if (byte <= 32) {
          at = this.skipSpace(at)
          byte = view.getUint8(at)
        }
        if (byte !== CLOSE_BRACKET) {
          if (depth === nesting.length) nesting = this.deepen()
          nesting[depth++] = inObject
          inObject = 0
          continue
        }
        at++
      } else if (byte <= 32) {
        const behind = this.skipSpace(at)
        if (behind === at) return -1
        at = behind
        byte = view.getUint8(at)
        continue
      } else {
        at = skipScalar(view, at, byte, end)
        if (at < 0) return -1
      }
      for (;;) {
        if (depth === 0) return at
        if (at >= end) return -1
        byte = view.getUint8(at)
        if (byte === COMMA) {
          byte = view.getUint8(++at)
          if (inObject === 1) {
            if (byte !== QUOTE) {
              at = this.skipSpace(at)
              if (view.getUint8(at) !== QUOTE) return -1
            }
            at = this.skipKey(view, at, end)
            if (at < 0) return -1
            byte = view.getUint8(at)
          }
          break
        }
        if (byte === CLOSE_BRACE) {
          if (inObject !== 1) return -1
          at++
          inObject = nesting[--depth] ?? 0
        } else if (byte === CLOSE_BRACKET) {
          if (inObject !== 0) return -1
          at++
          inObject = nesting[--depth] ?? 0
        } else {
          const behind = this.skipSpace(at)
          if (behind === at) return -1
          at = behind
        }
      }
    }
  }

  /** From the opening quote of a key to the position after its colon, or -1. */
  private skipKey(view: DataView, position: number, end: number): number {
    let at = skipString(view, position + 1, end)
    if (at < 0) return -1
    if (view.getUint8(at) !== COLON) {
      at = this.skipSpace(at)
      if (view.getUint8(at) !== COLON) return -1
    }
    return at + 1
  }

  /** Only the input bounds nesting: `JSON.parse` has no limit either, and the two must agree. */
  private deepen(): Uint8Array<ArrayBuffer> {
    const deeper = new Uint8Array(this.nesting.length * 2)
    deeper.set(this.nesting)
    this.nesting = deeper
    return deeper
  }
}

// JSON strings, walked over four bytes at a time.

const BACKSLASH = 92

/** From the first byte of a string's content to the position after its closing quote, or -1. */
const skipString = (view: DataView, position: number, end: number): number => {
  const limit = end - 4
  let at = position
  for (;;) {
    if (at > limit) return skipStringTail(view, at, end)
    // Each term leaves the top bit of a byte set where it matches. Flipping bit 1 swaps quote and blank (0x22, 0x20) and
    // keeps what is below 0x20 there, so one comparison finds quotes and control characters. A borrow can only disturb
    // bytes above a true match, and the lowest match is the one taken.
    const word = view.getInt32(at, true)
    const ends = word ^ 0x02020202
    const backslashes = word ^ 0x5c5c5c5c
    const found = (((ends - 0x21212121) & ~ends) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080
    if (found === 0) {
      at += 4
      continue
    }
    at += (31 - Math.clz32(found & -found)) >>> 3
    const byte = view.getUint8(at)
    if (byte === QUOTE) return at + 1
    if (byte !== BACKSLASH) return -1
    // Nearly every escape in an API server's responses is `\"` (keys of managedFields, last-applied-configuration).
    if (view.getUint8(at + 1) === QUOTE) at += 2
    else {
      at = skipEscape(view, at, end)
      if (at < 0) return -1
    }
  }
}

/** The same for the last bytes before `end`, where a four-byte read would go past it. */
const skipStringTail = (view: DataView, position: number, end: number): number => {
  let at = plainTailEnd(view, position, end)
  while (at < end && view.getUint8(at) === BACKSLASH) {
    at = skipEscape(view, at, end)
    if (at < 0) return -1
    at = plainTailEnd(view, at, end)
  }
  return at < end && view.getUint8(at) === QUOTE ? at + 1 : -1
}

/** Byte by byte to the first quote, backslash or control character; `end` if there is none. */
const plainTailEnd = (view: DataView, position: number, end: number): number => {
  let at = position
  while (at < end) {
    const byte = view.getUint8(at)
    if (byte === QUOTE || byte === BACKSLASH || byte < 32) break
    at++
  }
  return at
}

/** The same for a string whose bytes are its text: -1 also if it has an escape sequence. */
const skipPlainString = (view: DataView, position: number, end: number): number => {
  const limit = end - 4
  let at = position
  while (at <= limit) {
    const word = view.getInt32(at, true)
    const ends = word ^ 0x02020202
    const backslashes = word ^ 0x5c5c5c5c
    const found = (((ends - 0x21212121) & ~ends) | ((backslashes - 0x01010101) & ~backslashes)) & 0x80808080
    if (found !== 0) {
      at += (31 - Math.clz32(found & -found)) >>> 3
      return view.getUint8(at) === QUOTE ? at + 1 : -1
    }
    at += 4
  }
  at = plainTailEnd(view, at, end)
  return at < end && view.getUint8(at) === QUOTE ? at + 1 : -1
}
