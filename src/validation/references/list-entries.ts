/** Lists without some of their entries. */
import type { JsonObject, JsonValue } from "../../trace/json/exact-json.ts"
import { isJsonObject } from "../../trace/json/exact-json.ts"
import { withMember } from "../../trace/json/members.ts"

/** The holder with those objects removed from the list in a member; itself if there is none of them. What is no object stays. */
export const withoutEntries = (
  holder: JsonObject,
  member: string,
  isUnwanted: (entry: JsonObject) => boolean,
): JsonObject => {
  const list = Object.hasOwn(holder, member) ? holder[member] : undefined
  if (!Array.isArray(list)) return holder
  const kept = (list as ReadonlyArray<JsonValue>).filter((entry) => !(isJsonObject(entry) && isUnwanted(entry)))
  return kept.length === list.length ? holder : withMember(holder, member, kept)
}

/** The holder with each object of the list in a member changed; itself if nothing changed. */
export const withEntries = (
  holder: JsonObject,
  member: string,
  change: (entry: JsonObject) => JsonObject,
): JsonObject => {
  const list = Object.hasOwn(holder, member) ? holder[member] : undefined
  if (!Array.isArray(list)) return holder
  let isChanged = false
  const entries = (list as ReadonlyArray<JsonValue>).map((entry) => {
    if (!isJsonObject(entry)) return entry
    const changed = change(entry)
    if (changed !== entry) isChanged = true
    return changed
  })
  return isChanged ? withMember(holder, member, entries) : holder
}
