/** Objects inside an object, changed. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../trace/json/exact-json.ts"
import { changedAt } from "../../trace/json/extended-pointer.ts"

/** The object with the objects at some paths changed; itself if no change was one. `*` is every element of a list. */
export const withChangedAt = (
  object: JsonObject,
  paths: ReadonlyArray<ReadonlyArray<string>>,
  change: (holder: JsonObject) => JsonObject,
): JsonObject => {
  let isChanged = false
  const watched = (holder: JsonObject): JsonObject => {
    const changed = change(holder)
    if (changed !== holder) isChanged = true
    return changed
  }
  let left: JsonValue = object
  for (const path of paths) left = changedAt(left, path, watched)
  // The way to what did not change was copied all the same.
  return isChanged && isJsonObject(left) ? left : object
}
