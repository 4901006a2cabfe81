/** JSON pointers (RFC 6901): how a configuration names a place in an object. */

/**
 * The reference tokens of a pointer, unescaped (`~1` is `/`, `~0` is `~`): `/metadata/annotations/a~1b` becomes
 * `["metadata", "annotations", "a/b"]`. `undefined` for text that is no pointer or the empty one, which names the whole
 * object; the caller knows where the text came from and says so.
 */
export const parseJsonPointer = (text: string): ReadonlyArray<string> | undefined => {
  if (!text.startsWith("/") || /~(?![01])/.test(text)) return undefined
  return text
    .slice(1)
    .split("/")
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))
}
