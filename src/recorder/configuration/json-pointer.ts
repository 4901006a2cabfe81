/**
 * JSON pointers (RFC 6901) in the configuration: checks whether a text is one and, if not, why.
 *
 * The same rules apply to SimKube's extended pointers, in which the reference token `*` matches every element of an
 * array: that is an ordinary token to this grammar.
 */

/** Why `text` is not a JSON pointer, as a phrase that continues "… because it"; `undefined` if it is one. */
export const pointerFault = (text: string): string | undefined => {
  if (text === "") return undefined
  if (!text.startsWith("/")) return "does not start with /"
  if (/~(?![01])/.test(text)) return "has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
  return undefined
}
