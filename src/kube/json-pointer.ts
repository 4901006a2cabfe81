/**
 * JSON pointers (RFC 6901), which name a place in an object in the configuration.
 *
 * SimKube's extended pointers have the same grammar, with the reference token `*` for every element of an array: here that is an ordinary
 * token.
 */

/** Why `text` is not a JSON pointer, as a phrase that continues "… because it"; `undefined` if it is one. */
export const pointerFault = (text: string): string | undefined => {
  if (text === "") return undefined
  if (!text.startsWith("/")) return "does not start with /"
  if (/~(?![01])/.test(text)) return "has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
  return undefined
}

/**
 * The reference tokens of a pointer, unescaped (`~1` is `/`, `~0` is `~`): `/metadata/annotations/a~1b` becomes `["metadata",
 * "annotations", "a/b"]`. `undefined` for text that is not a pointer, and for the empty pointer, which names the whole object; the caller
 * knows the text's origin and reports the error.
 */
export const parseJsonPointer = (text: string): ReadonlyArray<string> | undefined => {
  if (text === "" || pointerFault(text) !== undefined) return undefined
  return text.slice(1).split("/").map(unescapedToken)
}

/** A reference token as the key that it names; a `~` that begins no escape sequence stays. */
export const unescapedToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~")
