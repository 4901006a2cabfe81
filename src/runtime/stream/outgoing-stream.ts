/**
 * The sending end of one long answer: an export, the results of a query.
 *
 * The call that asks for the answer opens the stream, and it exists for one life of both ends: frames are never sent again to another
 * receiver. They are acknowledged when the receiver has used them, so that its pace holds the sender back: beyond
 * {@link StreamOptions.windowBytes} unacknowledged, {@link OutgoingStream.isWritable} is false and the owner stops producing.
 *
 * It is over when the receiver closes it: after the end, or before it, which cancels the answer. Whoever owns the stream stops its
 * work then.
 */
import type { MessagePort } from "node:worker_threads"
import { Outbox, type OutboxMetrics } from "../mailbox/outbox.ts"

/** How much of an answer may be under way. */
export interface StreamOptions {
  /** Bytes that the receiver may have without having used them; one frame may exceed what is left. */
  readonly windowBytes: number
}

/** Both ends live once, so there is one incarnation. */
export const streamIncarnation = 1

export class OutgoingStream {
  readonly #outbox: Outbox
  readonly #closedListeners: Array<() => void> = []
  #isClosed = false

  /** `now`: monotonic ms. */
  constructor(name: string, port: MessagePort, { windowBytes }: StreamOptions, now: () => number) {
    this.#outbox = new Outbox(name, streamIncarnation, { windowBytes, bufferBytes: 0, now })
    port.on("close", () => this.#closed())
    this.#outbox.attach(port)
  }

  /** False while the window is full, and for good when the receiver has closed the stream. */
  get isWritable(): boolean {
    return !this.#isClosed && this.#outbox.isWritable
  }

  /** Called each time the stream becomes writable after it was seen not to be. One listener. */
  onWritable(listener: () => void): void {
    this.#outbox.onWritable(listener)
  }

  /** Called once, when the receiver has closed the stream or is gone; at once if it has. */
  onClosed(listener: () => void): void {
    if (this.#isClosed) listener()
    else this.#closedListeners.push(listener)
  }

  /** Sends a copy of `payload` as the next frame. After the receiver has closed the stream it is dropped. */
  send(payload: Uint8Array): void {
    if (!this.#isClosed) this.#outbox.send(payload)
  }

  /** Nothing follows what was sent. `error`: why the answer is not whole; the empty string if it is. To be called once. */
  end(error = ""): void {
    if (!this.#isClosed) this.#outbox.end(error)
  }

  metrics(): OutboxMetrics {
    return this.#outbox.metrics()
  }

  /** Gives the stream up: a receiver that has not heard of the end takes the answer for cut off. */
  close(): void {
    this.#outbox.detach()
  }

  #closed(): void {
    this.#isClosed = true
    for (const listener of this.#closedListeners.splice(0)) listener()
  }
}
