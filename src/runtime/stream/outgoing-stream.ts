/**
 * The sending end of one stream: a long result such as an export or a query's rows.
 *
 * The call that requests the result opens the stream, which exists for one life of both ends: frames are never sent again to another
 * receiver. They are acknowledged when the receiver has used them, so that its pace limits the sender: beyond {@link
 * StreamOptions.windowBytes} unacknowledged, {@link OutgoingStream.isWritable} is false and the owner stops producing.
 *
 * It is over when the receiver closes it: after the end, or before it, which cancels the stream. The owner then stops its work.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { MessagePort } from "node:worker_threads"
import { Outbox, type OutboxMetrics } from "../mailbox/outbox.ts"

/** How much of a stream may be under way. */
export interface StreamOptions {
  /** Bytes that the receiver may hold without having used them; one frame may exceed the rest of the window. */
  readonly windowBytes: number
}

/** Both ends have a single life, so there is one incarnation. */
const streamIncarnation = 1

export class OutgoingStream {
  readonly #outbox: Outbox
  readonly #closedListeners: Array<() => void> = []
  #isClosed = false

  /** `now` returns monotonic ms. */
  constructor(name: string, port: MessagePort, { windowBytes }: StreamOptions, now: () => number) {
    this.#outbox = new Outbox(name, streamIncarnation, { windowBytes, bufferBytes: 0, now })
    // With the actor's asynchronous context, as in the outbox.
    const closed = AsyncLocalStorage.bind(() => this.#closed())
    port.on("close", closed)
    this.#outbox.attach(port)
  }

  /** False while the window is full, and for good once the receiver has closed the stream. */
  get isWritable(): boolean {
    return !this.#isClosed && this.#outbox.isWritable
  }

  /** `listener` is called each time the stream becomes writable after {@link isWritable} returned false. One listener. */
  onWritable(listener: () => void): void {
    this.#outbox.onWritable(listener)
  }

  /** `listener` is called once, when the receiver has closed the stream or is gone; at once if that has happened already. */
  onClosed(listener: () => void): void {
    if (this.#isClosed) listener()
    else this.#closedListeners.push(listener)
  }

  /** Sends a copy of `payload` as the next frame. Dropped if the receiver has closed the stream. */
  send(payload: Uint8Array): void {
    if (!this.#isClosed) this.#outbox.send(payload)
  }

  /**
   * Marks the end. `error`: why the stream is incomplete; the empty string if it is complete. `note`: what is known only now about the whole
   * of it. Call it once.
   */
  end(error = "", note = ""): void {
    if (!this.#isClosed) this.#outbox.end(error, note)
  }

  metrics(): OutboxMetrics {
    return this.#outbox.metrics()
  }

  /** Closes the stream; a receiver that has not seen the end treats it as cut off. */
  close(): void {
    this.#outbox.detach()
  }

  #closed(): void {
    this.#isClosed = true
    for (const listener of this.#closedListeners.splice(0)) listener()
  }
}
