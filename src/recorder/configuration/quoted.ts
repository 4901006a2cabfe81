/**
 * Text from outside, made fit for a message: on one line, nothing invisible, nothing a terminal obeys, never long.
 *
 * A file given by mistake may be a kubeconfig or a token, and messages end up in logs; hence at most 60 characters.
 */

const longestQuote = 60

/** Control and formatting characters and line separators as `\u{…}`; a terminal obeys some of them, and none is seen. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

/** At most 60 characters of a text, in double quotes. */
export const quoted = (text: string): string =>
  visible(JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text))
