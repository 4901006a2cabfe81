/**
 * One subscription of a hub: what has not been taken by its consumer yet.
 *
 * Guaranteed to a consumer, whatever its pace:
 * - First the present state as additions, then `synced`, then the changes after it: no gap, no repeat. With `after`, the changes after that version come
 *   in place of the state. An object of the state is as it is when it is taken, so it may be newer than `synced`.
 * - For each object, its changes in their order, its last state, and its deletion. States in between are left out while the consumer is slow. A deletion
 *   and a later creation under the same name are always two changes.
 * - A consumer that resumes after the last version taken, or after that of a `bookmark`, misses nothing. Versions after
 *   `history` cannot be compared with those before it; after `expired` nothing comes: subscribe again, without `after`,
 *   and compare.
 */

import type { ResourceVersion } from "../../kube/offline.ts"
import { CoalescingQueue } from "../../runtime/index.ts"
import type {
  HubChange,
  HubConsumer,
  HubSubscriptionHandle,
  HubSubscriptionRequest,
  SubscriptionStatistics,
} from "./hub-change.ts"
import type { ObjectWalk } from "./state/object-places.ts"
import type { ObjectFilter } from "./state/object-state.ts"
import { foldEvents, isAbove, type ObjectEvent, type StateChange } from "./state/state-change.ts"

interface Mark {
  readonly type: "synced" | "bookmark" | "expired" | "history"
  readonly version: ResourceVersion | string
  readonly bytes: Buffer
}

type Waiting = ObjectEvent | Mark

/** Keys of marks. UIDs are never that short. */
const syncedKey = "synced"
const bookmarkKey = "bookmark"
const historyKey = "history"

const frameBytes = 256 * 1024
/** Bytes that an object of the present state costs a frame beside its own, roughly: as in the queue. */
const rowBytes = 80
const noBytes = Buffer.alloc(0)

interface SubscriptionParts {
  readonly request: HubSubscriptionRequest
  /** `apps/v1.Deployment`. */
  readonly kind: string
  /** What it sees of its upstream; `undefined`: everything. */
  readonly filter: ObjectFilter | undefined
  readonly after: ResourceVersion | string | undefined
  readonly maximumBytes: number
  readonly consumer: HubConsumer
  readonly consumerFailed: (error: unknown) => void
  /** It wants no more changes. Called once. */
  readonly ended: (subscription: HubSubscription) => void
}

export class HubSubscription implements HubSubscriptionHandle {
  readonly after: ResourceVersion | string | undefined
  /** Its upstream has passed it the state with which it begins. */
  hasBegun = false
  /** A list has begun since it was attached, so that the list shows at least what its `after` has. */
  precedesList = false
  readonly #parts: SubscriptionParts
  #filter: ObjectFilter | undefined
  /** What comes after the present state. */
  readonly #queue: CoalescingQueue<Waiting>
  #present: PresentState | undefined
  /** It knows this version from elsewhere, and its upstream has not got there yet. */
  #floor: ResourceVersion | string | undefined
  #isSynced = false
  #isOver = false
  #hasNews = false
  /** At the last announcement, more was waiting than may wait. */
  #wasOverfull = false
  #delivered = 0
  /** Changes of objects that the present state contains anyway, as it has not been taken that far. */
  #skipped = 0

  constructor(parts: SubscriptionParts) {
    this.#parts = parts
    this.#filter = parts.filter
    this.after = parts.after
    this.#queue = new CoalescingQueue<Waiting>({ maximumBytes: parts.maximumBytes, fold })
  }

  get pending(): number {
    // With `synced`.
    return this.#queue.size + (this.#present === undefined ? 0 : this.#present.left + 1)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  get floor(): ResourceVersion | string | undefined {
    return this.#floor
  }

  take(maximumBytes = frameBytes): ReadonlyArray<HubChange> {
    this.#hasNews = false
    const taken: HubChange[] = []
    let bytes = 0
    while (this.#present !== undefined && (taken.length === 0 || bytes < maximumBytes)) {
      const waiting = this.#nextOf(this.#present)
      if ("object" in waiting) bytes += waiting.object.bytes.length + rowBytes
      taken.push(this.#delivery(waiting))
    }
    if (taken.length === 0 || (this.#present === undefined && bytes < maximumBytes))
      for (const waiting of this.#queue.take(maximumBytes - bytes)) taken.push(this.#delivery(waiting))
    return taken
  }

  unsubscribe(): void {
    this.#clear()
    this.#end()
  }

  statistics(): SubscriptionStatistics {
    const { request, kind } = this.#parts
    return {
      id: request.id,
      kind,
      isSynced: this.#isSynced,
      delivered: this.#delivered,
      folded: this.#queue.folded + this.#skipped,
      pending: this.pending,
      pendingBytes: this.#queue.bytes,
    }
  }

  /** Another upstream serves it from now on, of which it sees that; before it has begun. */
  servedWith(filter: ObjectFilter | undefined): void {
    this.#filter = filter
    this.precedesList = false
  }

  /** Begins with the present state, which is that of `version`. */
  present(walk: ObjectWalk, version: ResourceVersion | string): void {
    this.hasBegun = true
    this.#hasNews = true
    this.#present = new PresentState(walk, this.#filter, version)
  }

  /** Begins with the changes since its `after`, which the upstream has passed. */
  resume(changes: ReadonlyArray<StateChange>, version: ResourceVersion | string): void {
    this.hasBegun = true
    this.#floor = this.after
    for (const change of changes) this.offer(change)
    this.#floor = undefined
    this.#synchronised(version)
  }

  /** Begins with the first change after its `after`, which the upstream has not reached. */
  await(): void {
    this.hasBegun = true
    this.#floor = this.after
  }

  /** A change of the upstream. */
  offer(change: StateChange): void {
    const event = change.within(this.#filter)
    if (event === undefined || this.#isOver) return
    if (this.#present?.includes(change) === true) {
      this.#skipped++
      return
    }
    // A deletion is always passed on: it is not known whether it was before that version.
    const { version } = event.object
    if (event.type !== "deleted" && (version === this.#floor || isAbove(this.#floor, version))) return
    this.#put(event)
  }

  /** The upstream has delivered everything up to that version. `isMarked`: although no change shows it. */
  reached(version: ResourceVersion | string, isMarked: boolean): void {
    if (this.#isOver || !this.hasBegun) return
    if (this.#floor !== undefined) {
      if (isAbove(this.#floor, version)) return
      this.#floor = undefined
      this.#synchronised(version)
      // What is not in the queue by now is in the state, or still to come in it.
    } else if (this.#present !== undefined && this.#queue.size === 0) this.#present.version = version
    else if (isMarked) this.#mark(bookmarkKey, { type: "bookmark", version, bytes: noBytes })
  }

  /** The upstream's versions begin anew. */
  historyStarted(): void {
    if (this.#isOver || !this.hasBegun) return
    this.#mark(historyKey, { type: "history", version: "", bytes: noBytes })
  }

  /** The changes that it needs are not known any more. `problem`, for people: why. */
  expire(problem: string): void {
    if (this.#isOver) return
    this.#expired(problem)
    this.announce()
  }

  /** Tells the consumer of what has been added since the last time, if anything. */
  announce(): void {
    if (!this.#hasNews) return
    this.#giveUpIfOverfull()
    this.#hasNews = false
    try {
      this.#parts.consumer.available()
    } catch (error) {
      this.#parts.consumerFailed(error)
    }
  }

  /** Not at once: what one network read has brought, such as a list without most objects, no consumer can have taken yet. */
  #giveUpIfOverfull(): void {
    const isOverfull = !this.#queue.isWithinBounds
    const isLasting = isOverfull && this.#wasOverfull
    this.#wasOverfull = isOverfull
    if (!isLasting || this.#isOver) return
    this.#clear()
    this.#expired(`the subscriber does not keep up: more than ${this.#parts.maximumBytes} bytes wait for it`)
  }

  /** The next object of the present state, or the end of it. */
  #nextOf(present: PresentState): Waiting {
    const event = present.next()
    if (event !== undefined) return event
    this.#present = undefined
    return { type: "synced", version: present.version, bytes: noBytes }
  }

  #clear(): void {
    this.#present = undefined
    this.#queue.clear()
  }

  #put(event: ObjectEvent): void {
    this.#hasNews = true
    const { uid, bytes } = event.object
    // The upstream keeps the last state of what exists.
    this.#queue.put(uid, event, { bytes: bytes.length, isShared: event.type !== "deleted" })
  }

  #mark(key: string, mark: Mark): void {
    this.#hasNews = true
    this.#queue.mark(key, mark)
  }

  /**
   * What is before the mark is not folded into what comes after it: a consumer that reads `synced` has seen the whole
   * state.
   */
  #synchronised(version: ResourceVersion | string): void {
    this.#mark(syncedKey, { type: "synced", version, bytes: noBytes })
    this.#queue.seal()
  }

  #expired(problem: string): void {
    this.hasBegun = true
    this.#mark("expired", { type: "expired", version: this.after ?? "", bytes: expiredStatus(problem) })
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#parts.ended(this)
  }

  #delivery(waiting: Waiting): HubChange {
    if (!("object" in waiting)) {
      const { type, version, bytes } = waiting
      if (type === "synced") this.#isSynced = true
      return { type, key: "", uid: "", version: String(version), bytes, isFinalStateUnknown: false }
    }
    this.#delivered++
    const { type, object, isFinalStateUnknown } = waiting
    const { key, uid, version, bytes } = object
    return { type, key, uid, version: String(version), bytes, isFinalStateUnknown }
  }
}

/** Marks have keys of their own and are never folded. */
const fold = (waiting: Waiting, next: Waiting): Waiting =>
  "object" in waiting && "object" in next ? foldEvents(waiting, next) : next

/** What the API server sends for a version that it no longer has. */
const expiredStatus = (message: string): Buffer =>
  Buffer.from(
    JSON.stringify({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      reason: "Expired",
      code: 410,
    }),
  )

/**
 * The present state of a selection while a subscriber takes it in its own time: each object once, as it is then. Whatever happens meanwhile to
 * objects that are still to come is part of it.
 */
class PresentState {
  readonly #walk: ObjectWalk
  /** `undefined`: all objects. */
  readonly #filter: ObjectFilter | undefined
  /** All changes up to it are part of the state. Objects that were taken late may be newer. */
  version: ResourceVersion | string

  /** `walk` has the state of `version`. */
  constructor(walk: ObjectWalk, filter: ObjectFilter | undefined, version: ResourceVersion | string) {
    this.#walk = walk
    this.#filter = filter
    this.version = version
  }

  /** Objects that are still to be looked at, at most. */
  get left(): number {
    return this.#walk.ahead
  }

  /** The addition of the next object that is selected; `undefined` at the end. */
  next(): ObjectEvent | undefined {
    for (let object = this.#walk.next(); object !== undefined; object = this.#walk.next())
      if (this.#filter === undefined || this.#filter(object))
        return { type: "added", object, isFinalStateUnknown: false }
    return undefined
  }

  /** Whether the object of the change is still to come: then the change need not be reported. */
  includes(change: StateChange): boolean {
    return this.#walk.isBefore(change.ordinal)
  }
}
