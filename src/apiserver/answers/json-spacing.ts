/**
 * JSON re-formatted the way a proxy might: one line, a space after every `:` and `,` outside strings.
 *
 * Exists because readers of the watch protocol may only rely on JSON, not on the white space that Go's encoder happens
 * to leave out. Idempotent, and `spaced(a + b) === spaced(a) + spaced(b)` when `a` ends in a `:` or `,` or outside white
 * space, so that a prefix can be formatted apart.
 */
export type JsonFormat = (json: string) => string

/** Leaves JSON as it is: compact, as the real server answers programs. */
export const compact: JsonFormat = (json) => json

/** Adds the spaces. The input must be valid JSON or a part of it that cuts no string. */
export const spaced: JsonFormat = (json) =>
  json.replace(/"(?:[^"\\]|\\.)*"|[:,]\s*/g, (token) => (token[0] === '"' ? token : `${token[0]} `))
