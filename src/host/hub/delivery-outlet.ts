/**
 * The subscriptions of one receiver, a worker with controllers, and its mailbox. Changes of many subscriptions share a frame. While the
 * mailbox is full, or a subscription paused, its changes wait and are folded in the subscription.
 */

import type { Outbox } from "../../runtime/index.ts"
import { DeliveriesBuilder } from "./deliveries.ts"
import type { HubSubscriptionHandle } from "./hub-change.ts"

/** Bytes of an ordinary frame of a mailbox. */
const frameBytes = 256 * 1024
/** Bytes that one subscription adds before the next one has its turn. */
const turnBytes = 32 * 1024

/** The sending part of a mailbox. */
type DeliveryOutbox = Pick<Outbox, "isWritable" | "onWritable" | "send">

interface Outgoing {
  readonly handle: HubSubscriptionHandle
  /** Of the last row that was sent. */
  lastRow: number
}

export class DeliveryOutlet {
  readonly #outbox: DeliveryOutbox
  readonly #subscriptions = new Map<number, Outgoing>()
  readonly #paused = new Set<number>()
  /** Those with changes, in the order of their turns. */
  readonly #ready = new Set<number>()
  #isDue = false

  constructor(outbox: DeliveryOutbox) {
    this.#outbox = outbox
    outbox.onWritable(() => this.#send())
  }

  has(id: number): boolean {
    return this.#subscriptions.has(id)
  }

  add(id: number, subscription: HubSubscriptionHandle): void {
    this.#subscriptions.set(id, { handle: subscription, lastRow: 0 })
    if (subscription.pending > 0) this.available(id)
  }

  /** Ends the subscription. Rows of it may still be under way. */
  remove(id: number): void {
    this.#subscriptions.get(id)?.handle.unsubscribe()
    this.#subscriptions.delete(id)
    this.#paused.delete(id)
    this.#ready.delete(id)
  }

  clear(): void {
    for (const id of [...this.#subscriptions.keys()]) this.remove(id)
  }

  setPaused(id: number, isPaused: boolean): void {
    if (!this.has(id)) return
    if (isPaused) this.#paused.add(id)
    else {
      this.#paused.delete(id)
      this.available(id)
    }
  }

  /** The subscription has changes. They are sent with those that others get in this turn of the event loop. */
  available(id: number): void {
    this.#ready.add(id)
    if (this.#isDue) return
    this.#isDue = true
    queueMicrotask(() => {
      this.#isDue = false
      this.#send()
    })
  }

  #send(): void {
    for (let next = this.#next(); next !== undefined && this.#outbox.isWritable; next = this.#next()) {
      const frame = new DeliveriesBuilder()
      for (; next !== undefined && frame.bytes < frameBytes; next = this.#next()) {
        const [id, subscription] = next
        this.#ready.delete(id)
        for (const change of subscription.handle.take(turnBytes)) {
          subscription.lastRow = (subscription.lastRow + 1) >>> 0
          frame.add({ subscription: id, number: subscription.lastRow, change })
          if (change.type === "expired") this.remove(id)
        }
        if (subscription.handle.pending > 0) this.#ready.add(id)
      }
      if (frame.bytes > 0) this.#outbox.send(frame.finish())
    }
  }

  #next(): readonly [number, Outgoing] | undefined {
    for (const id of this.#ready) {
      const subscription = this.#subscriptions.get(id)
      if (subscription === undefined || subscription.handle.pending === 0) this.#ready.delete(id)
      else if (!this.#paused.has(id)) return [id, subscription]
    }
    return undefined
  }
}
