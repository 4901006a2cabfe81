/**
 * Sends the owner-resolver the owners that were named: after each commit those that it made durable, each owner once.
 *
 * Nothing waits for it. If the resolver does not keep up, questions are dropped, and once it does, it is told to read them from the
 * database, which contains every one of them: so the mailbox bounds the memory. The same happens when the store starts, because its
 * previous life may have ended between a commit and its questions.
 */

import type { NamedOwner } from "../../archive/rows/owner-sets.ts"
import type { Outbox } from "../../runtime/mailbox/outbox.ts"
import { encodeOwnerQuestions } from "../../wire/owner-messages.ts"

/** Bytes of questions in flight or waiting: some 4,000 of them. */
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

  /** `owners`: the owners that a commit has made durable. */
  ask(owners: ReadonlyArray<NamedOwner>): void {
    for (let start = 0; start < owners.length && !this.#drop(); start += batchQuestions) {
      this.#outbox.send(encodeOwnerQuestions({ questions: owners.slice(start, start + batchQuestions), rescan: false }))
    }
  }

  /** Reading `isWritable` while it is false makes the outbox call back when it becomes true. */
  #drop(): boolean {
    if (this.#outbox.isWritable) return false
    this.#hasDropped = true
    return true
  }
}
