/**
 * The receiving end of a mailbox: any number of senders, each attached with its own port.
 *
 * Guarantees: for each sender and incarnation the handler gets every frame number once, in order. A frame delivered again after a re-link
 * is dropped and counted; if it is already acknowledged it is acknowledged again, so that a sender that missed the acknowledgement can
 * release it. Frames of an incarnation older than the newest attached one are dropped: their sender is dead, and its successor starts from
 * what is committed. A frame's memory is never read once its sender may reuse it: an acknowledgement is sent only for frames received
 * through the present port.
 *
 * Nothing is acknowledged automatically: the owner calls {@link Inbox.acknowledge} when the frame's effect is durable.
 */

import { AsyncLocalStorage } from "node:async_hooks"
import type { MessagePort } from "node:worker_threads"
import * as Schema from "effect/Schema"
import { encodeAcknowledgement, type Frame, readEnvelope } from "./envelope.ts"
import type { DataMessage } from "./outbox.ts"

/** A mailbox broke its own rules: a frame number was skipped, or an envelope could not be read. Always a bug. */
export class MailboxProtocolError extends Schema.TaggedError<MailboxProtocolError>()("MailboxProtocolError", {
  mailbox: Schema.String,
  sender: Schema.String,
  description: Schema.String,
}) {
  override get message(): string {
    return `mailbox ${this.mailbox} from ${this.sender}: ${this.description}`
  }
}

export interface InboxMetrics {
  readonly receivedFrames: number
  readonly receivedBytes: number
  readonly duplicateFrames: number
  /** Frames of a dead sender that were dropped, because its successor starts from what is committed. */
  readonly fencedFrames: number
  /** Delivered but not acknowledged yet. */
  readonly pendingFrames: number
}

export interface InboxHandler {
  /**
   * A sender was attached. Returns the last frame number of that incarnation whose effect is already durable here, 0 if none is.
   * `undefined` if nothing here outlives a life: then the sender starts with the oldest frame it still keeps, whatever its number, since a
   * former life acknowledged the ones before.
   *
   * From here on, no older incarnation of that sender is heard. So this is the moment to settle what it left and to
   * tell the new one where to resume: earlier, a frame still on its way could make that untrue.
   *
   * `"later"` if that cannot be settled now: the sender's frames wait, former lives are still heard, and {@link Inbox.attachDeferred}
   * retries.
   */
  attached(sender: string, incarnation: number): number | undefined | "later"
  /** The next frame. The payload is valid until it is acknowledged. An exception crashes the actor. */
  frame(sender: string, frame: Frame): void
  /** The sender of a stream has ended it; `error` is empty if the stream is complete. */
  ended?(error: string, note: string): void
}

interface Sender {
  readonly port: MessagePort
  readonly incarnation: number
  readonly slabs: Map<number, Buffer>
  /** Last number passed to the handler. */
  delivered: number
  /** Last number whose effect is durable. */
  acknowledged: number
  /** Last number received through this port: a frame after it is still in the port's queue and points at memory. */
  received: number
  /** True until the first frame of a sender whose durable number is unknown. */
  begins: boolean
}

export class Inbox {
  readonly mailbox: string
  readonly #handler: InboxHandler
  readonly #failed: (error: Error) => void
  readonly #senders = new Map<string, Sender>()
  /** Newest life of each sender whose attachment was deferred; nothing has been read from its port yet. */
  readonly #deferred = new Map<string, { readonly incarnation: number; readonly port: MessagePort }>()
  #receivedFrames = 0
  #receivedBytes = 0
  #duplicates = 0
  #fenced = 0

  constructor(mailbox: string, handler: InboxHandler, failed: (error: Error) => void) {
    this.mailbox = mailbox
    this.#handler = handler
    this.#failed = failed
  }

  attach(name: string, incarnation: number, port: MessagePort): void {
    const before = this.#senders.get(name)
    const deferred = this.#deferred.get(name)
    if (Math.max(before?.incarnation ?? 0, deferred?.incarnation ?? 0) > incarnation) {
      port.close()
      return
    }
    deferred?.port.close()
    this.#deferred.delete(name)
    const durable = this.#handler.attached(name, incarnation)
    if (durable === "later") {
      this.#deferred.set(name, { incarnation, port })
      return
    }
    const sameLife = before !== undefined && before.incarnation === incarnation
    const sender: Sender = {
      port,
      incarnation,
      slabs: new Map(),
      delivered: Math.max(durable ?? 0, sameLife ? before.delivered : 0),
      acknowledged: durable ?? (sameLife ? before.acknowledged : 0),
      received: 0,
      begins: durable === undefined && !sameLife,
    }
    this.#senders.set(name, sender)
    const heard = AsyncLocalStorage.bind((message: DataMessage) => {
      // What a dead sender left in its port still arrives after its successor was attached. Closing the port would drop it uncounted, and
      // its other end closes it anyway.
      if (this.#senders.get(name) !== sender) {
        if ("offset" in message && this.#isFenced(name, incarnation)) this.#fenced++
        return
      }
      try {
        this.#receive(name, sender, message)
      } catch (cause) {
        this.#failed(cause instanceof Error ? cause : new Error(String(cause)))
      }
    })
    // With the actor's asynchronous context, as in the outbox.
    port.on("message", heard)
    // The sender is gone. Its number stays, to recognise duplicates; its memory can go.
    port.on("close", () => sender.slabs.clear())
  }

  /** Attaches every deferred sender that the handler now accepts. Does nothing if there is none. */
  attachDeferred(): void {
    for (const [name, deferred] of [...this.#deferred]) {
      // The handler may have called this itself, or another life of the sender may have been attached.
      if (this.#deferred.get(name) !== deferred) continue
      this.#deferred.delete(name)
      try {
        this.attach(name, deferred.incarnation, deferred.port)
      } catch (cause) {
        deferred.port.close()
        this.#failed(cause instanceof Error ? cause : new Error(String(cause)))
        return
      }
    }
  }

  detach(name: string): void {
    for (const each of [this.#senders, this.#deferred]) {
      each.get(name)?.port.close()
      each.delete(name)
    }
  }

  close(): void {
    for (const each of [this.#senders, this.#deferred]) {
      for (const { port } of each.values()) port.close()
      each.clear()
    }
  }

  /** Acknowledges all frames of that sender up to `number`. Ignored for an incarnation that is gone. */
  acknowledge(name: string, incarnation: number, number: number): void {
    const sender = this.#senders.get(name)
    if (sender === undefined || sender.incarnation !== incarnation || number <= sender.acknowledged) return
    sender.acknowledged = number
    this.#answer(sender)
  }

  metrics(): InboxMetrics {
    let pendingFrames = 0
    for (const sender of this.#senders.values()) pendingFrames += Math.max(0, sender.delivered - sender.acknowledged)
    return {
      receivedFrames: this.#receivedFrames,
      receivedBytes: this.#receivedBytes,
      duplicateFrames: this.#duplicates,
      fencedFrames: this.#fenced,
      pendingFrames,
    }
  }

  #isFenced(name: string, incarnation: number): boolean {
    return (this.#senders.get(name)?.incarnation ?? 0) > incarnation
  }

  #receive(name: string, sender: Sender, message: DataMessage): void {
    if ("end" in message) {
      this.#handler.ended?.(message.end, message.note)
      return
    }
    if ("memory" in message) {
      sender.slabs.set(message.slab, Buffer.from(message.memory))
      return
    }
    if ("gone" in message) {
      sender.slabs.delete(message.slab)
      return
    }
    const slab = sender.slabs.get(message.slab)
    if (slab === undefined) throw this.#broken(name, `frame in unknown slab ${message.slab}`)
    const frame = readEnvelope(slab.subarray(message.offset, message.offset + message.length))
    this.#receivedFrames++
    this.#receivedBytes += message.length
    if (frame.incarnation !== sender.incarnation) {
      throw this.#broken(name, `frame of incarnation ${frame.incarnation} from ${sender.incarnation}`)
    }
    if (sender.begins) {
      sender.begins = false
      sender.delivered = frame.number - 1
      sender.acknowledged = frame.number - 1
    }
    if (frame.number <= sender.delivered) {
      sender.received = frame.number
      this.#duplicates++
      if (frame.number <= sender.acknowledged) this.#answer(sender)
      return
    }
    if (frame.number !== sender.delivered + 1) {
      throw this.#broken(name, `frame ${frame.number} after ${sender.delivered}`)
    }
    sender.received = frame.number
    sender.delivered = frame.number
    this.#handler.frame(name, frame)
  }

  #answer(sender: Sender): void {
    const number = Math.min(sender.acknowledged, sender.received)
    if (number > 0) sender.port.postMessage(encodeAcknowledgement({ incarnation: sender.incarnation, number }))
  }

  #broken(sender: string, description: string): MailboxProtocolError {
    return new MailboxProtocolError({ mailbox: this.mailbox, sender, description })
  }
}
