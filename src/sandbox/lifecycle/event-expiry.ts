/** Events expire one hour after their last change, the real server's default. */

import { type Change, type ChangeRecord, keyOf } from "../../apiserver/watch/change.ts"
import type { Timer } from "../../clock.ts"
import type { Collection } from "../store/collection.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"

/** ms; the real server's `--event-ttl`. */
const eventLife = 3_600_000

const eventKind = "v1.Event"

export class EventExpiry {
  readonly #around: WriteSurroundings
  /** In the order in which they expire, since all have the same lifetime. */
  #waiting: Array<{ readonly due: number; readonly change: Change }> = []
  #timer: Timer | undefined

  constructor(around: WriteSurroundings) {
    this.#around = around
    around.store.observe((collection, record) => this.#observe(collection, record))
  }

  close(): void {
    this.#timer?.cancel()
    this.#waiting = []
  }

  #observe({ name }: Collection, { change }: ChangeRecord): void {
    if (name !== eventKind || change.type === "DELETED") return
    this.#waiting.push({ due: this.#around.clock.monotonicMs() + eventLife, change })
    this.#timer ??= this.#around.clock.after(eventLife, () => this.#expire())
  }

  #expire(): void {
    const { clock, store } = this.#around
    const now = clock.monotonicMs()
    const collection = store.collection(eventKind)
    const alive = this.#waiting.findIndex(({ due }) => due > now)
    const expired = this.#waiting.splice(0, alive < 0 ? this.#waiting.length : alive)
    for (const { change } of expired) {
      const live = collection.live.get(keyOf(change.namespace, change.name))
      // An Event that was changed meanwhile has a later entry.
      if (live?.change === change) store.remove(collection, live)
    }
    const next = this.#waiting[0]
    this.#timer = next === undefined ? undefined : clock.after(next.due - now, () => this.#expire())
  }
}
