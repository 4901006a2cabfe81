/**
 * The caches of a thread, fed from the watch hub: one subscription for each selection, however many scripts use it.
 *
 * It checks no permission: the caller must have the right to each cache that it opens. That no row of a subscription is
 * missing is counted; if one is, the subscription is given up for a new one, which begins with a list, so that nothing
 * is missed all the same. So it is when the hub ends.
 */

import type { ApiObject } from "../../../kube/index.ts"
import {
  compareResourceVersions,
  formatGvk,
  parseResourceVersion,
  type ResourceVersion,
} from "../../../kube/offline.ts"
import { ObjectCache } from "../../cache/object-cache.ts"
import type { CacheSource, KindSelection, OpenCache } from "../../controller/access/shared-caches.ts"
import type { HubWatchRequest } from "../../dispatcher/watch-registry.ts"
import type { Delivery } from "../../hub/deliveries.ts"
import type { HubChange } from "../../hub/hub-change.ts"

interface HubSourceOptions {
  /** The number before that of the first subscription. Default 0. */
  readonly lastSubscription?: number
  /** Begins a subscription of that number at the hub. */
  readonly subscribe: (subscription: number, request: HubWatchRequest) => void
  readonly unsubscribe: (subscription: number) => void
  /** So many rows were lost on their way: a bug of the host. */
  readonly missed: (rows: number) => void
  readonly trouble: (detail: string) => void
}

interface Fed {
  readonly selection: KindSelection
  readonly kept: HubCache
  subscription: number
  /** The hub's number of the last row. */
  lastRow: number
  /** The last reason why there was no subscription. */
  told: string
}

export class HubSource implements CacheSource {
  readonly hasManagedFields = false
  readonly #options: HubSourceOptions
  readonly #fed = new Map<number, Fed>()
  #lastSubscription: number

  constructor(options: HubSourceOptions) {
    this.#options = options
    this.#lastSubscription = options.lastSubscription ?? 0
  }

  open(selection: KindSelection): OpenCache {
    const name = formatGvk(selection.kind.gvk)
    const kept = new HubCache((error) =>
      this.#options.trouble(`${name}: a handler threw: ${error instanceof Error ? error.stack : String(error)}`),
    )
    const fed: Fed = { selection, kept, subscription: 0, lastRow: 0, told: "" }
    this.#subscribe(fed)
    return {
      cache: kept.cache,
      synced: kept.synced,
      lost: new Promise(() => undefined),
      close: () => this.#unsubscribe(fed),
    }
  }

  /** Rows of a frame. Handlers get the changes of a frame together. */
  deliver(rows: ReadonlyArray<Delivery>): void {
    const touched = new Set<HubCache>()
    for (const { subscription, number, change } of rows) {
      const fed = this.#fed.get(subscription)
      // Rows of a subscription that has ended meanwhile may still be under way.
      if (fed === undefined) continue
      if (number !== (fed.lastRow + 1) >>> 0) {
        // A row that comes again has not been lost, but what follows it is as doubtful.
        this.#options.missed(Math.max(number - fed.lastRow - 1, 1))
        this.#renew(fed)
        continue
      }
      fed.lastRow = number
      touched.add(fed.kept)
      if (!fed.kept.take(change)) this.#renew(fed)
    }
    for (const kept of touched) kept.flush()
  }

  /** Nothing more comes for the subscription. `reason`: why it was refused; empty if its hub is gone. The caller has paced refusals. */
  ended(subscription: number, reason: string): void {
    const fed = this.#fed.get(subscription)
    if (fed === undefined) return
    if (reason !== "" && reason !== fed.told)
      this.#options.trouble(`${formatGvk(fed.selection.kind.gvk)} cannot be watched: ${reason}`)
    fed.told = reason
    this.#renew(fed)
  }

  #renew(fed: Fed): void {
    this.#unsubscribe(fed)
    fed.kept.relist()
    this.#subscribe(fed)
  }

  #subscribe(fed: Fed): void {
    fed.subscription = this.#freeSubscription()
    fed.lastRow = 0
    this.#fed.set(fed.subscription, fed)
    this.#options.subscribe(fed.subscription, watchRequestOf(fed.selection))
  }

  /** The hub has 32 bits for it. */
  #freeSubscription(): number {
    do this.#lastSubscription = (this.#lastSubscription + 1) >>> 0
    while (this.#fed.has(this.#lastSubscription))
    return this.#lastSubscription
  }

  #unsubscribe(fed: Fed): void {
    if (this.#fed.delete(fed.subscription)) this.#options.unsubscribe(fed.subscription)
  }
}

/** The request of a watch of all objects of the selection, from their present state on. */
export const watchRequestOf = (selection: KindSelection): HubWatchRequest => {
  const { kind, namespace, labelSelector, fieldSelector, managedFields = false } = selection
  const { group, version, kind: name } = kind.gvk
  return {
    apiVersion: group === "" ? version : `${group}/${version}`,
    group,
    version,
    kind: name,
    resourceVersion: "",
    includeUninitialized: false,
    allowBookmarks: false,
    managedFields,
    ...(namespace !== undefined && { namespace }),
    ...(labelSelector !== undefined && { labelSelector }),
    ...(fieldSelector !== undefined && { fieldSelector }),
  }
}

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
class HubCache {
  readonly cache: ObjectCache<ApiObject>
  readonly #synced = Promise.withResolvers<void>()
  /** Resolves when the first list is complete. */
  readonly synced = this.#synced.promise
  /** The list under way, by UID; `undefined` while following. */
  #listed: Map<string, ApiObject> | undefined = new Map()
  /** The highest version that the hub has reported in the present history. Own writes do not count: the hub may not have seen them yet. */
  #reached: ResourceVersion | undefined
  #isNewHistory = false

  /** `onHandlerError` gets what a handler of changes threw. */
  constructor(onHandlerError: (error: unknown) => void) {
    this.cache = new ObjectCache({ onHandlerError })
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
    this.#synced.resolve()
  }

  #note({ version, isFinalStateUnknown }: HubChange): void {
    const reached = isFinalStateUnknown ? undefined : parseResourceVersion(version)
    if (reached === undefined) return
    if (this.#reached === undefined || compareResourceVersions(reached, this.#reached) > 0) this.#reached = reached
  }
}

const parsed = ({ bytes }: HubChange): ApiObject => JSON.parse(bytes.toString("utf8"))
