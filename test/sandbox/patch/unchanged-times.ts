/** A write that changes nothing must not look like a change because of a new time in managedFields. */

import { memberOf } from "../../../src/own-member.ts"
import {
  isEqualJson,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  withMember,
} from "../../../src/sandbox/patch/json/json-value.ts"

/**
 * `after` with the managedFields of `before`, if both differ in nothing but the times of entries; else `after` itself.
 * Call it last, when defaults are filled in and unknown fields are gone: the REST layer cannot know earlier whether
 * there is anything to store.
 */
export const withUnchangedTimes = (before: JsonObject, after: JsonObject): JsonObject => {
  const old = entriesOf(before)
  const entries = entriesOf(after)
  if (old === undefined || entries === undefined || old.length !== entries.length) return after
  let moved = false
  for (let index = 0; index < old.length; index++) {
    const left = old[index] as JsonObject
    const right = entries[index] as JsonObject
    if (left === right) continue
    if (left["time"] !== right["time"]) moved = true
    if (!isEqualJson(withMember(left, "time", undefined), withMember(right, "time", undefined))) return after
  }
  if (!moved) return after
  const restored = withEntries(after, old)
  return isEqualJson(restored, before) ? restored : after
}

const entriesOf = (object: JsonObject): ReadonlyArray<JsonValue> | undefined => {
  const metadata = memberOf(object, "metadata")
  const entries = isJsonObject(metadata) ? memberOf(metadata, "managedFields") : undefined
  return isJsonArray(entries) && entries.length > 0 ? entries : undefined
}

const withEntries = (object: JsonObject, entries: ReadonlyArray<JsonValue>): JsonObject =>
  withMember(object, "metadata", withMember(memberOf(object, "metadata") as JsonObject, "managedFields", entries))
