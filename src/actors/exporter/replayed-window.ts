/**
 * A window whose objects are sanitised for another cluster (replay-object.ts), without the changes of which nothing is left then; the fields
 * that identify an object are unchanged.
 *
 * Memory: a hash of 20 bytes for each object that exists.
 */
import { hash } from "node:crypto"
import type { ObjectEvent } from "../../trace/event.ts"
import { formatExactJson, isJsonObject, parseExactJson } from "../../trace/json/exact-json.ts"
import { type IsInTrace, replayObject } from "../../trace/sanitising/replay-object.ts"
import type { ExportWindow, LeftOut } from "./export-window.ts"

/** A window for a replay. */
export interface ReplayedWindow extends ExportWindow {
  /** Changes left out so far because the object is the same as before. */
  readonly unchanged: number
}

/** Throws MalformedJsonError for recorded bytes that are not JSON, and what reading the window throws. */
export const replayedWindow = (window: ExportWindow, isInTrace: IsInTrace): ReplayedWindow => {
  /** By UID. */
  const states = new Map<string, string>()
  let unchanged = 0
  const shown = (event: ObjectEvent): ObjectEvent | LeftOut => {
    const sanitised = replayed(event, isInTrace)
    if (event.action !== "applied") {
      states.delete(event.uid)
      return sanitised
    }
    const state = hash("sha1", sanitised.object, "latin1")
    if (states.get(event.uid) === state) {
      unchanged++
      return undefined
    }
    states.set(event.uid, state)
    return sanitised
  }
  return {
    get unchanged() {
      return unchanged
    },
    *snapshot() {
      for (const event of window.snapshot()) yield event === undefined ? event : shown(event)
    },
    *events() {
      for (const event of window.events()) yield event?.type === "object" ? shown(event) : event
    },
  }
}

const replayed = (event: ObjectEvent, isInTrace: IsInTrace): ObjectEvent => {
  // A deletion without its last state.
  if (event.object.length === 0) return event
  const object = parseExactJson(event.object)
  if (!isJsonObject(object)) return event
  return { ...event, object: Buffer.from(formatExactJson(replayObject(event.gvk, object, isInTrace))) }
}
