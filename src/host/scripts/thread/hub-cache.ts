/**
 * One selection of objects, kept up to date from a subscription at the watch hub; objects are parsed here, once for all scripts of the thread.
 *
 * ```
 *   listing ──synced──▶ following ──history, expired, the end of the hub──▶ listing (a new subscription)
 * ```
 *
 * Guaranteed, as by `SharedInformer`:
 * - The cache is synced only once it has the whole state.
 * - The last state of every object, and every deletion, reach every handler. What was deleted between two subscriptions is missing in the
 *   list of the second one, and is delivered as a deletion then.
 * - An older state never replaces a newer one, unless the server was restored: then its versions begin anew, and its list counts.
 */

import type { ApiObject } from "../../../kube/client/objects.ts"
import { compareResourceVersions, parseResourceVersion, type ResourceVersion } from "../../../kube/resource-version.ts"
import type { HubChange } from "../../hub/hub-change.ts"
import { ObjectCache } from "../../object-cache.ts"

export class HubCache {
  readonly cache: ObjectCache<ApiObject>
  /** Resolves when the first list is complete. */
  readonly synced: Promise<void>
  /** The list under way, by UID; `undefined` while following. */
  #listed: Map<string, ApiObject> | undefined = new Map()
  /** The highest version that the hub has reported in the present history. Own writes do not count: the hub may not have seen them yet. */
  #reached: ResourceVersion | undefined
  #isNewHistory = false
  #resolveSynced: () => void = () => undefined

  /** `onHandlerError` gets what a handler of changes threw. */
  constructor(onHandlerError: (error: unknown) => void) {
    this.cache = new ObjectCache({ onHandlerError })
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve
    })
  }

  /** A new subscription begins, with the whole state. */
  relist(): void {
    this.#listed = new Map()
  }

  /** A change of the subscription. Returns false if the subscription is of no more use. Handlers get it with the next {@link flush}. */
  take(change: HubChange): boolean {
    switch (change.type) {
      case "added":
      case "modified":
        if (this.#listed === undefined) this.cache.watched(parsed(change), false)
        else this.#listed.set(change.uid, parsed(change))
        break
      case "deleted":
        if (this.#listed === undefined) this.cache.watched(parsed(change), true, change.isFinalStateUnknown)
        else this.#listed.delete(change.uid)
        break
      case "synced":
        this.#complete(change.version)
        break
      case "bookmark":
        this.cache.progressed(change.version)
        // One that was created by an own write and deleted while the hub had no watch is unknown to the hub, which does not report its end. The
        // hub's state shows it. Not decided here: the row of an object that changes all the time may come after that mark.
        if (this.#listed === undefined && this.cache.hasUnseen(change.version)) return false
        break
      case "history":
        this.#isNewHistory = true
        return false
      case "expired":
        return false
    }
    if (this.#listed === undefined) this.#note(change)
    return true
  }

  flush(): void {
    this.cache.flush()
  }

  #complete(version: string): void {
    const listed = this.#listed
    if (listed === undefined) return
    this.#listed = undefined
    // A hub that was started again cannot know of a restore before its time, but its list shows it.
    const reached = parseResourceVersion(version)
    const isBehind =
      reached !== undefined && this.#reached !== undefined && compareResourceVersions(reached, this.#reached) < 0
    if (this.#isNewHistory || isBehind) {
      this.cache.newHistory()
      this.#reached = undefined
    }
    this.#isNewHistory = false
    this.cache.listStarted()
    for (const object of listed.values()) this.cache.listedItem(object)
    this.cache.listCompleted(version)
    this.#resolveSynced()
  }

  #note({ version, isFinalStateUnknown }: HubChange): void {
    const reached = isFinalStateUnknown ? undefined : parseResourceVersion(version)
    if (reached === undefined) return
    if (this.#reached === undefined || compareResourceVersions(reached, this.#reached) > 0) this.#reached = reached
  }
}

const parsed = ({ bytes }: HubChange): ApiObject => JSON.parse(bytes.toString("utf8")) as ApiObject
