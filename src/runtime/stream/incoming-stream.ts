/**
 * The receiving end of one long answer; see outgoing-stream.ts.
 *
 * Guarantees: frames are handed over one after another, each when the one before was used, and acknowledged then; the receiver is told
 * of the end once, after the last frame, or as soon as the answer has failed, and hears nothing after it. An answer whose sender ends
 * without having said that it is whole, because its thread was killed for instance, ends with a reason, never as whole.
 */
import type { MessagePort } from "node:worker_threads"
import { messageOf } from "../../message-of.ts"
import { Inbox } from "../mailbox/inbox.ts"

/** Takes one answer. */
export interface StreamReceiver {
  /**
   * Uses one frame; resolves when its bytes are not needed any more: they are a view into the sender's memory, which is used again
   * then. A rejection closes the stream, and its message is the reason of the end.
   */
  frame(payload: Uint8Array): Promise<void>
  /** The last call. `error`: why the answer is not whole; `undefined` if it is. Not called after {@link IncomingStream.close}. */
  end(error: string | undefined): void
}

const sender = "sender"

export class IncomingStream {
  readonly #port: MessagePort
  readonly #receiver: StreamReceiver
  readonly #over: () => void
  #settled: Promise<void> = Promise.resolve()
  #isEnding = false
  #isOver = false

  /** `over` is called once, when the stream is closed, from whichever side. */
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
        ended: (error) => {
          if (error !== "") return this.#end(error)
          this.#isEnding = true
          this.#then(() => this.#end(undefined))
        },
      },
      (error) => this.#end(error.message),
    )
    inbox.attach(sender, 1, port)
    // What was sent before it comes first. A sender that ended after its last word has said all of it.
    port.on("close", () => {
      if (!this.#isEnding) this.#end("its thread ended")
    })
  }

  /**
   * The sender's thread has ended. A turn of the event loop passes first: everything that it sent is queued by now, but the news of
   * its end may be delivered before the last frame, or before the reason that a stopping actor gives.
   */
  gone(reason: string): void {
    setImmediate(() => {
      if (!this.#isEnding) this.#end(`its thread ended: ${reason}`)
    })
  }

  /** Cancels the answer, if it is not over: the receiver hears nothing more, and the sender stops its work. */
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

  #end(error: string | undefined): void {
    if (this.#isOver) return
    this.close()
    this.#receiver.end(error)
  }
}
