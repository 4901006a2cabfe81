/** JSON pointers (RFC 6901) in which `*` is every element of an array; the empty string is the object itself. SimKube's template paths are such. */

import { memberOf } from "../../own-member.ts"
import { isJsonList, isJsonObject, type JsonObject, type JsonValue } from "./exact-json.ts"
import { withMember } from "./members.ts"

/** The path of a pointer. */
export const pathOf = (pointer: string): ReadonlyArray<string> =>
  pointer
    .split("/")
    .slice(1)
    .map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))

/**
 * The value with the objects at a path changed; what is not there is not created.
 * @param path property names and indexes; `*` is every element of an array
 */
export const changedAt = (
  value: JsonValue,
  path: ReadonlyArray<string>,
  change: (value: JsonObject) => JsonObject,
  depth = 0,
): JsonValue => {
  if (depth === path.length) return isJsonObject(value) ? change(value) : value
  const key = path[depth] ?? ""
  if (isJsonList(value)) {
    return value.map((element, index) =>
      key === "*" || key === String(index) ? changedAt(element, path, change, depth + 1) : element,
    )
  }
  const member = isJsonObject(value) ? memberOf(value, key) : undefined
  if (!isJsonObject(value) || member === undefined) return value
  return withMember(value, key, changedAt(member, path, change, depth + 1))
}
