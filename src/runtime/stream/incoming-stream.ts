/**
 * The receiving end of one stream; see outgoing-stream.ts.
 *
 * Guarantees: frames are passed on one at a time, each after the previous one was used, and are acknowledged when used. The end is
 * reported to the receiver exactly once, after the last frame or as soon as the stream has failed; nothing follows it. If a sender ends
 * without marking the stream complete, for example because its thread was killed, the stream ends with a reason, never as complete.
 */
import type { MessagePort } from "node:worker_threads"
import { messageOf } from "../../message-of.ts"
import { Inbox } from "../mailbox/inbox.ts"

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
