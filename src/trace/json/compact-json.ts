/**
 * Puts JSON on one line. The API server sends compact JSON to programs, so objects nearly always pass through untouched; a proxy or an
 * aggregated API may indent, and a line break inside an object would end a line of NDJSON early.
 */

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const QUOTE = 0x22
const BACKSLASH = 0x5c

/**
 * The same bytes if they contain no line break; else a copy without the white space outside strings. A raw line break inside a string,
 * which JSON forbids, is escaped, so that nothing is lost and the result is one line.
 */
export const compactJson = (json: Uint8Array): Uint8Array =>
  json.indexOf(LINE_FEED) < 0 && json.indexOf(CARRIAGE_RETURN) < 0 ? json : compacted(json)

const compacted = (json: Uint8Array): Uint8Array => {
  // An escape takes two bytes for one.
  const out = new Uint8Array(2 * json.length)
  let length = 0
  let isInString = false
  for (let index = 0; index < json.length; index++) {
    const byte = json[index] as number
    if (byte === LINE_FEED || byte === CARRIAGE_RETURN) {
      if (!isInString) continue
      out[length++] = BACKSLASH
      out[length++] = byte === LINE_FEED ? 0x6e : 0x72
    } else if (isInString || (byte !== 0x20 && byte !== 0x09)) {
      out[length++] = byte
      if (byte === QUOTE) isInString = !isInString
      else if (byte === BACKSLASH && index + 1 < json.length) {
        // The escaped character neither ends the string nor starts another escape.
        const escaped = json[index + 1] as number
        if (escaped !== LINE_FEED && escaped !== CARRIAGE_RETURN) out[length++] = json[++index] as number
      }
    }
  }
  return out.subarray(0, length)
}
