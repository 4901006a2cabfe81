/**
 * JSON pointers (RFC 6901) as configuration text: which texts are pointers, and why another is not.
 *
 * The same rules serve SimKube's extended pointers, in which a reference token `*` stands for every element of an
 * array: that is an ordinary token to this grammar.
 */

/** Why `text` is not a JSON pointer, as a phrase that continues "… because it"; `undefined` when it is one. */
export const pointerFault = (text: string): string | undefined => {
  if (text === "") return undefined
  if (!text.startsWith("/")) return "does not start with /"
  if (/~(?![01])/.test(text)) return "has a ~ that is neither ~0 (for ~) nor ~1 (for /)"
  return undefined
}
