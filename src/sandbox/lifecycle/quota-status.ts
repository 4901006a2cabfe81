/** Writes the status of ResourceQuotas: what they limit, and what of it is used. */

import { child, isSame } from "../rules/fields.ts"
import { stateOf } from "../writes/answer.ts"
import type { QuotaBook } from "../writes/quotas/quota-book.ts"
import type { WriteSurroundings } from "../writes/surroundings.ts"
import { writeAsController } from "./controller-write.ts"
import { deferredWork } from "./deferred-work.ts"

const quotaKind = "v1.ResourceQuota"

/** Writes the status of a quota whenever its book says that it may have changed. */
export class QuotaStatusWriter {
  readonly #queue: ReturnType<typeof deferredWork>

  constructor(around: WriteSurroundings, book: QuotaBook) {
    const queue = deferredWork(around, (own, key) => write(own, book, key))
    this.#queue = queue
    book.onChange((key) => queue.add(key))
  }

  close(): void {
    void this.#queue.close()
  }
}

const write = (around: WriteSurroundings, book: QuotaBook, key: string): void => {
  const collection = around.store.collection(quotaKind)
  const live = collection.live.get(key)
  const status = live && book.statusOf(live.change.namespace, live.change.name)
  if (live === undefined || status === undefined) return
  const before = stateOf(live.change)
  const { hard, used } = status
  if (isSame(child(before, "status"), { hard, used })) return
  const after = { ...before, metadata: { ...before.metadata }, status: { hard, used } }
  writeAsController(around, { collection, live, before, after, subresource: "status" })
}
