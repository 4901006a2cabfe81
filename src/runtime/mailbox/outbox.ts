/**
 * The sending end of a mailbox.
 *
 * Guarantees: frames reach every attached receiver in the order of their numbers; a frame is kept until it is acknowledged and sent again
 * to each new receiver, so nothing is lost when a receiver dies. Under pressure it suspends: beyond `windowBytes` unacknowledged, frames
 * wait here; beyond `bufferBytes` waiting, `isWritable` is false and the owner must stop producing until `onWritable`. One frame may exceed
 * the rest of the window, so that a large object passes. A small frame counts as {@link minimumCharge} bytes in both limits, because that
 * is what it costs.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import type { MessagePort } from "node:worker_threads"
import { decodeAcknowledgement, envelopeBytes, writeEnvelope } from "./envelope.ts"
import { type Slab, SlabPool } from "./slab-pool.ts"

/**
 * Least number of bytes that a frame counts in window and buffer. A message in a port's queue costs 300 bytes whatever it holds (measured,
 * Node 26), and its entry here another 100: counted by their own length, 8 MiB of smallest frames would be 160 MB of queue and half a
 * second of the receiver's event loop.
 */
export const minimumCharge = 512

/** Messages of a sender: a slab it has not shown this receiver yet, the position of a frame, a slab that is gone, or the end. */
export type DataMessage =
  | { readonly slab: number; readonly memory: SharedArrayBuffer }
  | { readonly slab: number; readonly offset: number; readonly length: number }
  | { readonly slab: number; readonly gone: true }
  /** Why the stream is incomplete; the empty string if it is complete. The note is about the whole of it. */
  | { readonly end: string; readonly note: string }

export interface OutboxOptions {
  /** Bytes that may be unacknowledged at the receiver. Default 8 MiB (docs/reference/architecture.md#mailboxes). */
  readonly windowBytes?: number
  /** Bytes that may wait here without credit. Default 16 MiB (docs/reference/architecture.md#mailboxes). */
  readonly bufferBytes?: number
  /** Returns monotonic ms, to measure stalled time. */
  readonly now: () => number
}

/** Counters and gauges of one outbox. Bytes include the 16-byte envelope; gauges count at least {@link minimumCharge} per frame. */
export interface OutboxMetrics {
  readonly unacknowledgedFrames: number
  readonly unacknowledgedBytes: number
  readonly waitingFrames: number
  readonly waitingBytes: number
  readonly sentFrames: number
  readonly sentBytes: number
  readonly redeliveredFrames: number
  /** Total ms during which a frame waited for credit. */
  readonly stalledMs: number
}

interface Kept {
  readonly number: number
  readonly slab: Slab
  readonly offset: number
  readonly length: number
  /** Bytes it counts in window and buffer. */
  readonly charge: number
}

/** The envelope has 32 bits for the number. At 200 frames a second a life reaches it after eight months. */
const maximumNumber = 0xffff_ffff

export class Outbox {
  readonly mailbox: string
  readonly incarnation: number
  readonly #windowBytes: number
  readonly #bufferBytes: number
  readonly #now: () => number
  readonly #pool = new SlabPool((slab) => this.#forget(slab))
  #port: MessagePort | undefined
  readonly #shown = new Set<number>()
  /** Unacknowledged frames by number; the first `#inFlight` of them are with the receiver. */
  #kept: Array<Kept> = []
  #inFlight = 0
  #inFlightBytes = 0
  #keptBytes = 0
  #reserved: Slab | undefined
  #lastNumber = 0
  #sentFrames = 0
  #sentBytes = 0
  #redelivered = 0
  #stalledSince: number | undefined
  #stalledMs = 0
  #writableListener: (() => void) | undefined
  #wasBlocked = false
  #end: Extract<DataMessage, { end: string }> | undefined
  readonly #flushWaiters: Array<{ readonly number: number; readonly resolve: () => void }> = []

  constructor(mailbox: string, incarnation: number, options: OutboxOptions) {
    this.mailbox = mailbox
    this.incarnation = incarnation
    this.#windowBytes = options.windowBytes ?? 8 * 1024 * 1024
    this.#bufferBytes = options.bufferBytes ?? 16 * 1024 * 1024
    this.#now = options.now
  }

  /** Attaches a (new) receiver: sends it every unacknowledged frame again, oldest first, as credit allows. */
  attach(port: MessagePort): void {
    this.#port?.close()
    this.#port = port
    this.#shown.clear()
    this.#redelivered += this.#inFlight
    this.#inFlight = 0
    this.#inFlightBytes = 0
    // A port has no asynchronous context of its own; with that of the actor, an exception is known to be the actor's (worker.ts).
    const acknowledged = AsyncLocalStorage.bind((bytes: Uint8Array) => {
      if (this.#port === port) this.#acknowledged(bytes)
    })
    port.on("message", acknowledged)
    // The receiver is gone: frames committed now wait for its successor, and count as stalled.
    port.on("close", () => {
      if (this.#port === port) this.#port = undefined
    })
    this.#pump()
  }

  /** Removes the receiver; frames wait for the next. */
  detach(): void {
    this.#port?.close()
    this.#port = undefined
  }

  /** False when both the window and the buffer are full: stop producing until {@link onWritable} is called. */
  get isWritable(): boolean {
    const writable = this.#keptBytes < this.#windowBytes + this.#bufferBytes
    if (!writable) this.#wasBlocked = true
    return writable
  }

  /** `listener` is called once each time the outbox becomes writable after {@link isWritable} returned false. One listener. */
  onWritable(listener: () => void): void {
    this.#writableListener = listener
  }

  /**
   * Memory for one payload of at least `minimumBytes`, valid until {@link commit}. Reserving again without a commit releases the previous
   * memory. It ignores `isWritable`: what is already read must have a place to go.
   */
  reserve(minimumBytes: number): Buffer {
    if (this.#reserved !== undefined) this.#pool.vacate(this.#reserved)
    const slab = this.#pool.withRoom(minimumBytes + envelopeBytes)
    this.#pool.hold(slab)
    this.#reserved = slab
    return slab.bytes.subarray(slab.used + envelopeBytes)
  }

  /**
   * Sends the first `payloadLength` bytes of the reserved memory as the next frame; returns its number. Throws RangeError for more bytes
   * than were reserved, and when the numbers of this life are used up (the actor then crashes and starts another).
   */
  commit(payloadLength: number): number {
    const slab = this.#reserved
    if (slab === undefined) throw new Error(`mailbox ${this.mailbox}: commit without reserve`)
    const length = envelopeBytes + payloadLength
    if (slab.used + length > slab.memory.byteLength) {
      throw new RangeError(`mailbox ${this.mailbox}: ${payloadLength} bytes are more than was reserved`)
    }
    if (this.#lastNumber === maximumNumber) throw new RangeError(`mailbox ${this.mailbox}: no frame number is left`)
    this.#reserved = undefined
    const number = ++this.#lastNumber
    const charge = Math.max(length, minimumCharge)
    writeEnvelope(slab.bytes, slab.used, this.incarnation, number, payloadLength)
    this.#kept.push({ number, slab, offset: slab.used, length, charge })
    this.#pool.occupy(slab, length)
    this.#pool.vacate(slab)
    this.#keptBytes += charge
    this.#pump()
    return number
  }

  /** Copies `payload` into a new frame. For small, rare payloads; batches are written in place. */
  send(payload: Uint8Array): number {
    this.reserve(payload.length).set(payload)
    return this.commit(payload.length)
  }

  /**
   * For streams, whose outbox has one receiver: an empty `error` marks the end after all frames; any other is sent at once, before frames
   * that still wait, and says why the stream is incomplete.
   */
  end(error: string, note: string): void {
    const end = { end: error, note } satisfies DataMessage
    if (error === "") {
      this.#end = end
      this.#pump()
    } else this.#port?.postMessage(end)
  }

  /** Resolves when every frame committed so far is acknowledged. */
  flushed(): Promise<void> {
    if (this.#kept.length === 0) return Promise.resolve()
    return new Promise((resolve) => this.#flushWaiters.push({ number: this.#lastNumber, resolve }))
  }

  metrics(): OutboxMetrics {
    const running = this.#stalledSince === undefined ? 0 : this.#now() - this.#stalledSince
    return {
      unacknowledgedFrames: this.#inFlight,
      unacknowledgedBytes: this.#inFlightBytes,
      waitingFrames: this.#kept.length - this.#inFlight,
      waitingBytes: this.#keptBytes - this.#inFlightBytes,
      sentFrames: this.#sentFrames,
      sentBytes: this.#sentBytes,
      redeliveredFrames: this.#redelivered,
      stalledMs: Math.round(this.#stalledMs + running),
    }
  }

  #pump(): void {
    const port = this.#port
    while (port !== undefined && this.#inFlightBytes < this.#windowBytes) {
      const frame = this.#kept[this.#inFlight]
      if (frame === undefined) break
      const { slab } = frame
      if (!this.#shown.has(slab.id)) {
        this.#shown.add(slab.id)
        port.postMessage({ slab: slab.id, memory: slab.memory } satisfies DataMessage)
      }
      port.postMessage({ slab: slab.id, offset: frame.offset, length: frame.length } satisfies DataMessage)
      this.#inFlight++
      this.#inFlightBytes += frame.charge
      this.#sentFrames++
      this.#sentBytes += frame.length
    }
    const stalled = this.#inFlight < this.#kept.length
    if (!stalled && port !== undefined && this.#end !== undefined) {
      port.postMessage(this.#end)
      this.#end = undefined
    }
    if (stalled && this.#stalledSince === undefined) this.#stalledSince = this.#now()
    if (!stalled && this.#stalledSince !== undefined) {
      this.#stalledMs += this.#now() - this.#stalledSince
      this.#stalledSince = undefined
    }
  }

  #acknowledged(bytes: Uint8Array): void {
    const { incarnation, number } = decodeAcknowledgement(bytes)
    if (incarnation !== this.incarnation) return
    let done = 0
    // A receiver may use its ledger to acknowledge a frame that was not sent to it again yet.
    for (const frame of this.#kept) {
      if (frame.number > number) break
      this.#keptBytes -= frame.charge
      if (done < this.#inFlight) this.#inFlightBytes -= frame.charge
      this.#pool.vacate(frame.slab)
      done++
    }
    if (done === 0) return
    this.#kept.splice(0, done)
    this.#inFlight = Math.max(0, this.#inFlight - done)
    this.#pump()
    while (this.#flushWaiters.length > 0 && (this.#flushWaiters[0]?.number ?? 0) <= number) {
      this.#flushWaiters.shift()?.resolve()
    }
    if (this.#wasBlocked && this.#keptBytes < this.#windowBytes + this.#bufferBytes) {
      this.#wasBlocked = false
      this.#writableListener?.()
    }
  }

  #forget(slab: Slab): void {
    if (this.#shown.delete(slab.id)) this.#port?.postMessage({ slab: slab.id, gone: true } satisfies DataMessage)
  }
}
