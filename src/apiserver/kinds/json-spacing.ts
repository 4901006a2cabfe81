/**
 * JSON re-formatted the way a proxy might: one line, a space after every `:` and `,` outside strings.
 *
 * It exists because readers of the watch protocol may rely on JSON only, not on the white space that Go's encoder
 * happens to omit. Idempotent, and `spaced(a + b) === spaced(a) + spaced(b)` when `a` ends in a `:` or `,` or outside
 * white space, so that a prefix can be formatted apart.
 */
export type JsonFormat = (json: string) => string

/** Leaves JSON as it is: compact, as the real server sends it to programs. */
export const compact: JsonFormat = (json) => json

/** Adds the spaces. The input must be valid JSON, or a part of it that does not begin or end within a string. */
export const spaced: JsonFormat = (json) =>
  json.replace(/"(?:[^"\\]|\\.)*"|[:,]\s*/g, (token) => (token[0] === '"' ? token : `${token[0]} `))
