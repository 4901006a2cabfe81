/** The streams that an actor is sending, and metrics over all it has sent, by the method that opened them. */
import type { MessagePort } from "node:worker_threads"
import type { OutboxMetrics } from "../mailbox/outbox.ts"
import { OutgoingStream, type StreamOptions } from "./outgoing-stream.ts"

export class OpenStreams {
  readonly #now: () => number
  readonly #open = new Map<OutgoingStream, string>()
  /** Counters of closed streams: the totals must not fall when one closes. */
  readonly #closed = new Map<string, OutboxMetrics>()

  /** `now` returns monotonic ms. */
  constructor(now: () => number) {
    this.#now = now
  }

  open(method: string, port: MessagePort, options: StreamOptions): OutgoingStream {
    const stream = new OutgoingStream(method, port, options, this.#now)
    this.#open.set(stream, method)
    stream.onClosed(() => {
      this.#open.delete(stream)
      this.#closed.set(method, sum(this.#closed.get(method) ?? none, { ...stream.metrics(), ...nothingHeld }))
    })
    return stream
  }

  /** By method, as if all its streams were one mailbox. */
  metrics(): Record<string, OutboxMetrics> {
    const all: Record<string, OutboxMetrics> = Object.fromEntries(this.#closed)
    for (const [stream, method] of this.#open) all[method] = sum(all[method] ?? none, stream.metrics())
    return all
  }

  close(): void {
    for (const stream of this.#open.keys()) stream.close()
  }
}

const nothingHeld = { unacknowledgedFrames: 0, unacknowledgedBytes: 0, waitingFrames: 0, waitingBytes: 0 }

const none: OutboxMetrics = { ...nothingHeld, sentFrames: 0, sentBytes: 0, redeliveredFrames: 0, stalledMs: 0 }

const sum = (one: OutboxMetrics, other: OutboxMetrics): OutboxMetrics => ({
  unacknowledgedFrames: one.unacknowledgedFrames + other.unacknowledgedFrames,
  unacknowledgedBytes: one.unacknowledgedBytes + other.unacknowledgedBytes,
  waitingFrames: one.waitingFrames + other.waitingFrames,
  waitingBytes: one.waitingBytes + other.waitingBytes,
  sentFrames: one.sentFrames + other.sentFrames,
  sentBytes: one.sentBytes + other.sentBytes,
  redeliveredFrames: one.redeliveredFrames + other.redeliveredFrames,
  stalledMs: one.stalledMs + other.stalledMs,
})
