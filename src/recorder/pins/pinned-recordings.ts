/**
 * The copies of pins, read as recordings without a recorder.
 *
 * At most {@link mostOpen} are open at once, each with threads of its own (some 10 MB); one that nothing was asked of for {@link idleMs} is closed, and so is the one that has been idle
 * longest when another is asked for. If all are being read, further ones are refused, to be tried again.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import type { Clock, Timer } from "../../clock.ts"
import { messageOf } from "../../message-of.ts"
import type { ExportRefusal } from "../http/body/http-answer.ts"

/** The data directory of the copy of a pin. */
export const pinDirectory = (dataDirectory: string, id: string): string => join(dataDirectory, "pins", id)

/** Copies that are open at once. */
const mostOpen = 2

/** ms without a question after which a copy is closed, as the recorder's own reader is. */
export const idleMs = 90_000

/** A copy that can be asked. */
interface OpenCopy {
  /** Answers a request, whose URL is that of a recorder. */
  readonly answer: (request: IncomingMessage, response: ServerResponse) => void
  readonly close: () => Promise<void>
}

interface Held {
  readonly copy: Promise<OpenCopy>
  /** What is being answered. */
  readonly answers: Set<ServerResponse>
  idleSince: number
  timer: Timer | undefined
}

export class PinnedRecordings {
  readonly #open: (id: string) => Promise<OpenCopy>
  readonly #clock: Clock
  readonly #held = new Map<string, Held>()

  /** `open`: opens the copy of a pin. */
  constructor(open: (id: string) => Promise<OpenCopy>, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  /** Has the copy of a pin answer a request; resolves with the refusal if it cannot. Never rejects. */
  async answer(id: string, request: IncomingMessage, response: ServerResponse): Promise<ExportRefusal | undefined> {
    // Its "close" has been, so that nothing would take it from what is being answered again.
    if (response.destroyed) return undefined
    const held = this.#held.get(id) ?? this.#enter(id)
    if (held === undefined) {
      const message = `${mostOpen} pinned windows are being read, which is the limit; try again`
      return { status: 503, message, retryAfterSeconds: 5 }
    }
    held.timer?.cancel()
    held.answers.add(response)
    response.once("close", () => this.#answered(id, held, response))
    try {
      const copy = await held.copy
      if (!response.destroyed) copy.answer(request, response)
      return undefined
    } catch (cause) {
      if (this.#held.get(id) === held) this.#held.delete(id)
      return { status: 500, message: `the pinned window cannot be read: ${messageOf(cause)}` }
    }
  }

  /** Closes the copy of a pin that was removed; what it is being asked breaks off. */
  async forget(id: string): Promise<void> {
    const held = this.#held.get(id)
    if (held !== undefined) await this.#close(id, held)
  }

  /** Closes all. */
  async close(): Promise<void> {
    await Promise.all([...this.#held].map(([id, held]) => this.#close(id, held)))
  }

  #enter(id: string): Held | undefined {
    if (this.#held.size >= mostOpen) {
      const idle = [...this.#held].filter(([, { answers }]) => answers.size === 0)
      const [oldest] = idle.sort(([, one], [, other]) => one.idleSince - other.idleSince)
      if (oldest === undefined) return undefined
      void this.#close(...oldest)
    }
    const held: Held = { copy: this.#open(id), answers: new Set(), idleSince: 0, timer: undefined }
    this.#held.set(id, held)
    return held
  }

  #answered(id: string, held: Held, response: ServerResponse): void {
    held.answers.delete(response)
    if (held.answers.size > 0 || this.#held.get(id) !== held) return
    held.idleSince = this.#clock.monotonicMs()
    held.timer = this.#clock.after(idleMs, () => void this.#close(id, held))
  }

  async #close(id: string, held: Held): Promise<void> {
    held.timer?.cancel()
    if (this.#held.get(id) === held) this.#held.delete(id)
    for (const response of held.answers) response.destroy()
    // One that could not be opened has told who asked.
    const copy = await held.copy.catch(() => undefined)
    await copy?.close()
  }
}
