/** The changes of all places as one history: in the order of their times, each once, although two recordings may have it. */
import { isJsonObject, type JsonObject } from "../../trace/json/exact-json.ts"
import type { AskedPast } from "./asking.ts"
import { askPast, type PastParameters } from "./past-client.ts"

interface Position {
  readonly answer: AsyncGenerator<JsonObject, JsonObject, void>
  change: JsonObject
}

/** Each change as the recorder describes it. What is missing is noted. Returns whether any state had the field that was asked for. */
export async function* changesOf(
  { places, signal, lacks }: AskedPast,
  parameters: PastParameters,
): AsyncGenerator<JsonObject, boolean, void> {
  let hasField = false
  const positions: Position[] = []
  const advance = async (position: Position): Promise<boolean> => {
    const next = await position.answer.next()
    if (next.done !== true) {
      position.change = next.value
      return true
    }
    hasField ||= next.value.hasField !== false
    lacks(next.value)
    return false
  }
  try {
    for (const place of places) {
      const position: Position = { answer: askPast(place, "changes", parameters, signal), change: {} }
      if (await advance(position)) positions.push(position)
    }
    const recent = new Set<string>()
    while (positions.length > 0) {
      const position = positions.reduce((first, other) => (timeIn(other) < timeIn(first) ? other : first))
      const { change } = position
      const isMoving = await advance(position)
      if (!isMoving) positions.splice(positions.indexOf(position), 1)
      if (places.length > 1) {
        const isFirst = change.type === "created" || change.type === "appeared"
        const key = [change.uid, change.resourceVersion, isFirst ? "changed" : change.type].join(" ")
        if (recent.has(key)) continue
        recent.add(key)
      }
      yield change
    }
  } finally {
    // Whoever needs no further change leaves: no answer may stay open.
    for (const { answer } of positions) await answer.return({})
  }
  return hasField
}

const timeIn = ({ change }: Position): number => Number(change.time)

/** The object of a change; empty if it was not asked for, or there is none. */
export const objectOf = ({ object }: JsonObject): JsonObject => (isJsonObject(object) ? object : {})
