/**
 * What of a recording's history a filter shows: what a watch with that filter would have shown.
 *
 * An object that comes to match appears, and one that matches no longer goes, however it goes on unseen. Judged event by event
 * instead, an object that is adopted or labelled otherwise would appear and never go: who replays the trace would keep it for ever.
 * Deletions are judged by what was shown before; of an object never seen before, by its last state (W-11: never by a stub without
 * labels).
 */
import type { ObjectEvent } from "../event.ts"
import type { JsonObject } from "../json/exact-json.ts"

/** `shown` as it is, `hidden`, or `gone`: to be shown as the end of the object, which is not shown from now on. */
export type Showing = "shown" | "hidden" | "gone"

/** Judges the events of one export in order. Memory: the UIDs of live objects, once the filter looks at what may change. */
export class FilteredView {
  readonly #excludes: (event: ObjectEvent, object: () => JsonObject) => boolean
  /** UIDs of live objects and whether they are shown. */
  readonly #live = new Map<string, boolean>()

  /** `excludes` is never asked about what has vanished, which carries nothing. */
  constructor(excludes: (event: ObjectEvent, object: () => JsonObject) => boolean) {
    this.#excludes = excludes
  }

  /** `object` is asked for the parsed object only if the filter needs it. */
  of(event: ObjectEvent, object: () => JsonObject): Showing {
    const { action, uid } = event
    const wasShown = this.#live.get(uid)
    if (action === "applied") {
      const isShown = !this.#excludes(event, object)
      this.#live.set(uid, isShown)
      if (isShown) return "shown"
      return wasShown === true ? "gone" : "hidden"
    }
    this.#live.delete(uid)
    const isShown = wasShown ?? (action === "vanished" || !this.#excludes(event, object))
    return isShown ? "shown" : "hidden"
  }
}
