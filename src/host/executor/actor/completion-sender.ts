/**
 * Sends completions to one module worker: those of one turn of the event loop in one frame, in frames of about 1 MiB.
 *
 * A worker that takes none has its mailbox fill up; then {@link CompletionSender.isWritable} is false, and its modules must start nothing.
 */
import type { Outbox } from "../../../runtime/mailbox/outbox.ts"
import { type Completion, encodeCompletions } from "../operation-frames.ts"

/** Bytes of bodies after which a frame is sent: a slab of the mailbox is then not much larger than the largest body. */
const frameBytes = 1024 * 1024

export class CompletionSender {
  readonly #outbox: Outbox
  readonly #sent: () => void
  #gathered: Completion[] = []
  #bytes = 0
  #isScheduled = false

  /** `sent` is called after frames were sent, and when there is room again. */
  constructor(outbox: Outbox, sent: () => void) {
    this.#outbox = outbox
    this.#sent = sent
    outbox.onWritable(sent)
  }

  get isWritable(): boolean {
    return this.#outbox.isWritable
  }

  add(completion: Completion): void {
    this.#gathered.push(completion)
    this.#bytes += completion.response?.body.length ?? 0
    if (this.#bytes >= frameBytes) this.flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(() => {
        this.#isScheduled = false
        this.flush()
      })
    }
  }

  flush(): void {
    if (this.#gathered.length === 0) return
    this.#outbox.send(encodeCompletions(this.#gathered))
    this.#gathered = []
    this.#bytes = 0
    this.#sent()
  }

  /** The worker has died: what was not sent yet is of no interest to its successor. */
  drop(): void {
    this.#gathered = []
    this.#bytes = 0
  }
}
