/**
 * The body of a stream of events. It ends between two items, with one that says why, if the client takes that within {@link lastItemMs}; else the connection is
 * broken, and what is not whole does not count.
 */
import type { ServerResponse } from "node:http"
import { type EventForm, itemEnd } from "../../actors/index.ts"
import type { Clock, Timer } from "../../clock.ts"
import { clientTimeoutMs, written } from "../export/response-sink.ts"
import type { ExportSink } from "../export/transfer.ts"
import { type StreamEndReason, streamEndItem } from "./stream-end.ts"

// Where the items of a stream of events end in the pieces that it is sent in, and which sequence number the last whole one has.

const lineFeed = 0x0a

/** bytes of an item within which its sequence number is: only its names are before it. */
const headBytes = 4096

export class ItemBoundaries {
  /** What ends an item, as bytes. */
  readonly #end: Buffer
  /** The beginning of the item that is not whole yet. */
  #head = Buffer.alloc(0)
  #isBetween = true
  #endsWithLineFeed = false
  #sequence: number | undefined

  /** `sequence`: number after which the stream begins; `undefined`: after the present. */
  constructor(form: EventForm, sequence: number | undefined) {
    this.#end = Buffer.from(itemEnd(form))
    this.#sequence = sequence
  }

  /** Whether everything up to now is whole items. */
  get isBetween(): boolean {
    return this.#isBetween
  }

  /** Of the last whole item that has one. */
  get sequence(): number | undefined {
    return this.#sequence
  }

  /** Bytes of the next piece up to the end of its first item that ends in it; `undefined`: none does. Changes nothing. */
  firstEnd(piece: Uint8Array): number | undefined {
    if (this.#endsAtOnce(piece)) return 1
    const found = bufferOf(piece).indexOf(this.#end)
    return found < 0 ? undefined : found + this.#end.length
  }

  /** The next piece. */
  add(piece: Uint8Array): void {
    if (piece.length === 0) return
    const bytes = bufferOf(piece)
    const found = bytes.lastIndexOf(this.#end)
    const end = found >= 0 ? found + this.#end.length : this.#endsAtOnce(bytes) ? 1 : 0
    if (end > 0) {
      const before = found <= 0 ? -1 : bytes.lastIndexOf(this.#end, found - 1)
      const start = before >= 0 ? before + this.#end.length : found > 0 && this.#endsAtOnce(bytes) ? 1 : 0
      const begun = start > 0 ? Buffer.alloc(0) : this.#head
      this.#note(Buffer.concat([begun, bytes.subarray(start, end)]).subarray(0, headBytes))
      this.#head = Buffer.alloc(0)
    }
    const left = headBytes - this.#head.length
    if (left > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(end, end + left)])
    this.#isBetween = end === bytes.length
    this.#endsWithLineFeed = !this.#isBetween && bytes.at(-1) === lineFeed
  }

  /** Whether the first byte ends an item whose other line feed was the last byte before. */
  #endsAtOnce(piece: Uint8Array): boolean {
    return this.#end.length > 1 && this.#endsWithLineFeed && piece[0] === lineFeed
  }

  #note(item: Buffer): void {
    // In a text of JSON the quotes would be escaped.
    const sequence = /"sequence":(\d+)/.exec(item.toString("latin1"))?.[1]
    if (sequence !== undefined) this.#sequence = Number(sequence)
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

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
