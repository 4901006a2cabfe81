/**
 * Tells the owner-resolver which owners were named: after each commit those that it made durable, each owner once.
 *
 * Nothing waits for it. When the resolver does not keep up, questions are dropped, and once it does it is told to read them in the
 * database, where every one of them stands: so memory is bounded by the mailbox. Likewise when the store starts, because its
 * former life may have ended between a commit and its questions.
 */

import type { NamedOwner } from "../../archive/rows/owner-sets.ts"
import type { Outbox } from "../../runtime/mailbox/outbox.ts"
import { encodeOwnerQuestions } from "../../wire/owner-messages.ts"

/** Bytes of questions that may be under way or wait: some 4,000 of them. */
export const questionsWindow = { windowBytes: 256 * 1024, bufferBytes: 256 * 1024 } as const

/** Questions in one frame. */
const batchQuestions = 1000

const rescan = encodeOwnerQuestions({ questions: [], rescan: true })

export class OwnerQuestions {
  readonly #outbox: Pick<Outbox, "send" | "isWritable" | "onWritable">
  #hasDropped = false

  constructor(outbox: Pick<Outbox, "send" | "isWritable" | "onWritable">) {
    this.#outbox = outbox
    outbox.send(rescan)
    outbox.onWritable(() => {
      if (!this.#hasDropped) return
      this.#hasDropped = false
      outbox.send(rescan)
    })
  }

  /** `owners`: whom a commit has made durable. */
  ask(owners: ReadonlyArray<NamedOwner>): void {
    for (let start = 0; start < owners.length && !this.#drop(); start += batchQuestions) {
      this.#outbox.send(encodeOwnerQuestions({ questions: owners.slice(start, start + batchQuestions), rescan: false }))
    }
  }

  /** Looking at `isWritable` while it is false makes the outbox call when it is true again. */
  #drop(): boolean {
    if (this.#outbox.isWritable) return false
    this.#hasDropped = true
    return true
  }
}
