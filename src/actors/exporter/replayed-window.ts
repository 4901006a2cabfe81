/** A window whose objects are sanitised for another cluster (replay-object.ts); the fields that identify an object are unchanged. */
import type { ObjectEvent } from "../../trace/event.ts"
import { formatExactJson, isJsonObject, parseExactJson } from "../../trace/json/exact-json.ts"
import { type IsInTrace, replayObject } from "../../trace/sanitising/replay-object.ts"
import type { ExportWindow } from "./export-window.ts"

/** Throws MalformedJsonError for recorded bytes that are not JSON, and what reading the window throws. */
export const replayedWindow = (window: ExportWindow, isInTrace: IsInTrace): ExportWindow => ({
  *snapshot() {
    for (const event of window.snapshot()) yield event === undefined ? event : replayed(event, isInTrace)
  },
  *events() {
    for (const event of window.events()) yield event?.type === "object" ? replayed(event, isInTrace) : event
  },
})

const replayed = (event: ObjectEvent, isInTrace: IsInTrace): ObjectEvent => {
  // A deletion without its last state.
  if (event.object.length === 0) return event
  const object = parseExactJson(event.object)
  if (!isJsonObject(object)) return event
  return { ...event, object: Buffer.from(formatExactJson(replayObject(event.gvk, object, isInTrace))) }
}
