/**
 * JSON pointers (RFC 6901). SimKube's extended pointers have the same grammar; their `*` is an ordinary token here.
 */

/** Why `text` is not a JSON pointer, as a phrase that continues "… because it"; `undefined` if it is one. */
export const pointerFault = (text: string): string | undefined => {
  if (text === "") return undefined
  if (!text.startsWith("/")) return "does not start with /"
  if (/~(?![01])/.test(text)) return "has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
  return undefined
}

/**
 * The reference tokens of a pointer, unescaped: `/metadata/annotations/a~1b` becomes `["metadata", "annotations",
 * "a/b"]`. `undefined` for text that is not a pointer, and for the empty one.
 */
export const parseJsonPointer = (text: string): ReadonlyArray<string> | undefined => {
  if (text === "" || pointerFault(text) !== undefined) return undefined
  return text.slice(1).split("/").map(unescapedToken)
}

/** A reference token as the key that it names; a `~` that begins no escape sequence stays. */
export const unescapedToken = (token: string): string => token.replaceAll("~1", "/").replaceAll("~0", "~")
