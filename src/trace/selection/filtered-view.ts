/**
 * Filters a recording's history as a watch with that filter would have shown it.
 *
 * An object that starts to match appears, and one that stops matching is emitted as deleted. If each event were judged by itself, an object
 * that is adopted or relabelled would appear and never disappear, and a replay would keep it for ever. Deletions are judged by whether the
 * object was shown before; that of an object not seen before, by its last state (W-11: never by a stub without labels).
 */
import type { ObjectEvent } from "../event.ts"
import type { JsonObject } from "../json/exact-json.ts"

/** `shown` unchanged, `hidden`, or `gone`: emitted as the end of the object, which is not shown from then on. */
export type Showing = "shown" | "hidden" | "gone"

/** Judges the events of one export in order. Memory: the UIDs of live objects, if the filter depends on anything that can change. */
export class FilteredView {
  readonly #excludes: (event: ObjectEvent, object: () => JsonObject) => boolean
  /** UIDs of live objects and whether they are shown. */
  readonly #live = new Map<string, boolean>()

  /** `excludes` is never called for a vanished object, which has no content. */
  constructor(excludes: (event: ObjectEvent, object: () => JsonObject) => boolean) {
    this.#excludes = excludes
  }

  /** Whether the object with that UID exists and is shown. */
  isShown(uid: string): boolean {
    return this.#live.get(uid) === true
  }

  /** `object` returns the parsed object and is called only if the filter needs it. */
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
