/**
 * One stream: a long result such as an export or a query's rows.
 *
 * The call that requests the result opens the stream, which exists for one life of both ends: frames are never sent again to another
 * receiver. They are acknowledged when the receiver has used them, so that its pace limits the sender: beyond {@link
 * StreamOptions.windowBytes} unacknowledged, the owner waits for {@link OutgoingStream.writable} before it produces more.
 *
 * It is over when the receiver closes it: after the end, or before it, which cancels the stream. The owner then stops its work.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { MessagePort } from "node:worker_threads"
import { messageOf } from "../message-of.ts"
import { Inbox } from "./mailbox/inbox.ts"
import { Outbox, type OutboxMetrics } from "./mailbox/outbox.ts"

/** How much of a stream may be under way. */
export interface StreamOptions {
  /** Bytes that the receiver may hold without having used them; one frame may exceed the rest of the window. */
  readonly windowBytes: number
}

/** Both ends have a single life, so there is one incarnation. */
const streamIncarnation = 1

export class OutgoingStream {
  /** Resolves once, when the receiver has closed the stream or is gone. */
  readonly closed: Promise<void>
  readonly #outbox: Outbox
  #isClosed = false
  /** Called when something has changed that {@link writable} waits for. */
  #changed: () => void = () => undefined

  /** `now` returns monotonic ms. `onClosed` is called once, when the receiver has closed the stream or is gone. */
  constructor(
    name: string,
    port: MessagePort,
    { windowBytes }: StreamOptions,
    now: () => number,
    onClosed: () => void,
  ) {
    this.#outbox = new Outbox(name, streamIncarnation, { windowBytes, bufferBytes: 0, now })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    // With the actor's asynchronous context, as in the outbox.
    const closed = AsyncLocalStorage.bind(() => {
      this.#isClosed = true
      onClosed()
      resolve()
      this.#changed()
    })
    port.on("close", closed)
    this.#outbox.onWritable(() => this.#changed())
    this.#outbox.attach(port)
  }

  /**
   * Resolves with true when the window has room, with false once the receiver has closed the stream or is gone. One turn of the event loop passes first, in which
   * acknowledgements and calls arrive and other streams of this thread are served. One caller at a time.
   */
  async writable(): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve))
    while (!this.#isClosed && !this.#outbox.isWritable) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#changed = resolve
      await promise
    }
    return !this.#isClosed
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
}

/** Receives one stream. */
export interface StreamReceiver {
  /**
   * Uses one frame; resolves when its bytes are no longer needed: they are a view into the sender's memory, which is then reused. A
   * rejection closes the stream, and its message becomes the reason of the end.
   */
  frame(payload: Uint8Array): Promise<void>
  /**
   * The last call. `error`: why the stream is incomplete; `undefined` if it is complete. `note`: what the sender said about the whole of a
   * complete one. Not called after {@link IncomingStream.close}.
   */
  end(error: string | undefined, note: string): void
}

const sender = "sender"

/**
 * The receiving end of one stream.
 *
 * Guaranteed: frames are passed on one at a time, each after the previous one was used, and are acknowledged when used. The end is
 * reported to the receiver exactly once, after the last frame or as soon as the stream has failed; nothing follows it. If a sender ends
 * without marking the stream complete, for example because its thread was killed, the stream ends with a reason, never as complete.
 */
export class IncomingStream {
  readonly #port: MessagePort
  readonly #receiver: StreamReceiver
  readonly #over: () => void
  #settled: Promise<void> = Promise.resolve()
  #isEnding = false
  #isOver = false

  /** `over` is called once, when the stream is closed by either side. */
  constructor(name: string, port: MessagePort, receiver: StreamReceiver, over: () => void) {
    this.#port = port
    this.#receiver = receiver
    this.#over = over
    const inbox = new Inbox(
      name,
      {
        attached: () => undefined,
        frame: (_, { incarnation, number, payload }) => {
          this.#then(async () => {
            await receiver.frame(payload)
            inbox.acknowledge(sender, incarnation, number)
          })
        },
        ended: (error, note) => {
          if (error !== "") return this.#end(error)
          this.#isEnding = true
          this.#then(() => this.#end(undefined, note))
        },
      },
      (error) => this.#end(error.message),
    )
    inbox.attach(sender, 1, port)
    // Everything sent before arrives first. If the end mark has arrived, the close adds nothing.
    port.on("close", () => {
      if (!this.#isEnding) this.#end("its thread ended")
    })
  }

  /**
   * The sender's thread has ended. One turn of the event loop passes first: everything it sent is queued by now, but the event of its end
   * may be delivered before the last frame, or before the reason that a stopping actor sends.
   */
  gone(reason: string): void {
    setImmediate(() => {
      if (!this.#isEnding) this.#end(`its thread ended: ${reason}`)
    })
  }

  /** Cancels the stream unless it is over: the receiver gets nothing more, and the sender stops its work. */
  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#port.close()
    this.#over()
  }

  #then(action: () => Promise<void> | void): void {
    this.#settled = this.#settled
      .then(() => (this.#isOver ? undefined : action()))
      .catch((cause: unknown) => this.#end(messageOf(cause)))
  }

  #end(error: string | undefined, note = ""): void {
    if (this.#isOver) return
    this.close()
    this.#receiver.end(error, note)
  }
}
