/**
 * `Warning` headers as Kubernetes 1.34.4 writes them (RFC 7234: code 299, no agent, a quoted text): UTF-8 unescaped, no
 * text twice, none with control characters, and all shortened if together they would be too long for clients, which accept
 * some 16 kB of headers.
 */

/** Characters of all texts together beyond which each is shortened. The real server's number. */
const wholeLimit = 4096
/** Characters of a text that is shortened. */
const shortenedLength = 256

/** The values of the headers, in the order of the texts. Never throws. */
export const warningHeaders = (texts: ReadonlyArray<string>): string[] => {
  const kept = [...new Set(texts)].filter((text) => text !== "" && !/\p{Cc}/u.test(text))
  const whole = kept.map((text) => [...text.toWellFormed()])
  const total = whole.reduce((sum, { length }) => sum + length, 0)
  if (total <= wholeLimit) return whole.map(quoted)
  const headers: string[] = []
  let written = 0
  for (const characters of whole) {
    if (written >= wholeLimit) break
    const shown = characters.slice(0, shortenedLength)
    written += shown.length
    headers.push(quoted(shown))
  }
  return headers
}

const quoted = (characters: ReadonlyArray<string>): string =>
  `299 - "${characters.join("").replaceAll(/["\\]/g, "\\$&")}"`

/**
 * The value as Node takes it: one character for each byte of its UTF-8. Control characters, which would end the header or
 * make Node throw, become question marks.
 */
export const headerBytes = (value: string): string =>
  plain.test(value) ? value : Buffer.from(value.replaceAll(/\p{Cc}/gu, "?"), "utf8").toString("latin1")

const plain = /^[ -~]*$/
