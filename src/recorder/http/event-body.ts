/**
 * The body of a stream of events. It ends between two items, with one that says why, if the client takes that within {@link lastItemMs}; else the connection is
 * broken, and what is not whole does not count.
 */
import type { ServerResponse } from "node:http"
import type { EventForm } from "../../actors/reader/event-encoding.ts"
import type { Clock, Timer } from "../../clock.ts"
import { clientTimeoutMs, written } from "../export/response-sink.ts"
import type { ExportSink } from "../export/transfer.ts"
import { ItemBoundaries } from "./item-boundaries.ts"
import { type StreamEndReason, streamEndItem } from "./stream-end.ts"

/** ms within which a client must take the rest of the item that is being sent, and the last one. A client that does not read must not delay the end of its stream. */
export const lastItemMs = 2000

interface EventBodyOptions {
  readonly form: EventForm
  /** Sequence number after which the client asked to begin; `undefined`: after the present. */
  readonly after: number | undefined
  readonly clock: Clock
}

export class EventBody implements ExportSink {
  readonly #response: ServerResponse
  readonly #form: EventForm
  readonly #clock: Clock
  readonly #boundaries: ItemBoundaries
  readonly #slow = Promise.withResolvers<void>()
  readonly #between = Promise.withResolvers<void>()
  #isWriting = false
  /** Whether it ends after the item that is being sent. */
  #isEnding = false
  #deadline: Timer | undefined

  constructor(response: ServerResponse, { form, after, clock }: EventBodyOptions) {
    this.#response = response
    this.#form = form
    this.#clock = clock
    this.#boundaries = new ItemBoundaries(form, after)
  }

  /** Resolves when the client has taken nothing for {@link clientTimeoutMs}. */
  get slow(): Promise<void> {
    return this.#slow.promise
  }

  begin(): void {
    if (this.#response.headersSent || this.#response.destroyed) return
    this.#response.setHeader("Content-Type", contentTypes[this.#form])
    this.#response.statusCode = 200
  }

  async take(piece: Uint8Array): Promise<void> {
    if (this.#isEnding && this.#boundaries.isBetween) return
    const whole = this.#isEnding ? this.#boundaries.firstEnd(piece) : undefined
    const sent = whole === undefined ? piece : piece.subarray(0, whole)
    this.#isWriting = true
    this.#boundaries.add(sent)
    await written(this.#response, sent, this.#clock, () => this.#slow.resolve())
    this.#isWriting = false
    if (this.#isEnding && this.#boundaries.isBetween) this.#between.resolve()
  }

  /** Sends the rest of the item that is being sent, and nothing after it. Resolves when the client has that, or is gone; after {@link lastItemMs} it is. */
  async betweenItems(): Promise<void> {
    this.#isEnding = true
    if (!this.#response.headersSent) return
    this.#setDeadline()
    if (!this.#isWriting && this.#boundaries.isBetween) return
    this.#response.once("close", () => this.#between.resolve())
    if (this.#response.destroyed) this.#between.resolve()
    await this.#between.promise
  }

  /** Sends the last item and ends the body, if it is between two items. Resolves when the client has it, or is gone. The headers must have been sent. */
  async end(reason: StreamEndReason): Promise<void> {
    this.#isEnding = true
    this.#setDeadline()
    if (this.#isWriting || !this.#boundaries.isBetween) this.#response.destroy()
    if (!this.#response.destroyed) {
      this.#response.end(streamEndItem(this.#form, reason, this.#boundaries.sequence))
      await new Promise<void>((resolve) => {
        this.#response.once("finish", resolve).once("close", resolve)
      })
    }
    this.#deadline?.cancel()
  }

  /** Breaks the connection. */
  abandon(): void {
    this.#response.destroy()
    this.#deadline?.cancel()
  }

  #setDeadline(): void {
    this.#deadline ??= this.#clock.after(lastItemMs, () => this.#response.destroy())
  }
}

/** Of each form. */
export const contentTypes: Readonly<Record<EventForm, string>> = {
  lines: "application/x-ndjson",
  "server-sent-events": "text/event-stream",
}
