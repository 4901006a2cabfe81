/**
 * Makes untrusted text safe for messages: on one line, no invisible characters or terminal control sequences, limited length.
 *
 * A file passed by mistake may be a kubeconfig or a token, and messages end up in logs, so at most 60 characters are quoted.
 */

const longestQuote = 60

/** Replaces control and formatting characters and line separators by `\u{…}`: they are invisible, and some control the terminal. */
export const visible = (text: string): string =>
  text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)

/**
 * The same for JSON, and for YAML whose strings with such characters are in double quotes: as `\u001b`, which is read back as what it was. Line breaks and tabs
 * stay, and characters beyond U+FFFF, which control no terminal. JSON.stringify leaves U+0080 to U+009F as they are, of which some do.
 */
export const visibleInJson = (text: string): string =>
  text.replace(/(?=[\0-\uffff])(?:[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}])/gu, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return `\\u${code.padStart(4, "0")}`
  })

/** At most 60 characters of a text, in double quotes. */
export const quoted = (text: string): string =>
  visible(JSON.stringify(text.length > longestQuote ? `${text.slice(0, longestQuote)}…` : text))

/** `a, b or c`. An Intl.ListFormat that only errors need costs every recorder 5 MB of locale data. */
export const enumerated = (words: ReadonlyArray<string>, conjunction: "and" | "or"): string =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(", ")} ${conjunction} ${words.at(-1)}`
