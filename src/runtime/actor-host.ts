/**
 * Runs one life of an actor in the current thread: boots the body, attaches links as they are made, serves control calls, and stops in
 * order (closes the scope, drains the outboxes that lead downstream, reports the end).
 *
 * The same code runs in a worker, in a room of a worker that several actors share, and, in tests of logic, in the test's own thread with its clock.
 */
import type { MessagePort } from "node:worker_threads"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Clock, Timer } from "../clock.ts"
import type { ActorBody, ActorContext, ActorDefinition } from "./actor.ts"
import { type ControlInterface, exposeControl } from "./control.ts"
import { Inbox, type InboxHandler, type InboxMetrics } from "./mailbox/inbox.ts"
import { Outbox, type OutboxMetrics } from "./mailbox/outbox.ts"
import { OutgoingStream, type StreamOptions } from "./stream.ts"

// The streams that an actor is sending, and metrics over all it has sent, by the method that opened them.

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
    const stream = new OutgoingStream(method, port, options, this.#now, () => {
      this.#open.delete(stream)
      this.#closed.set(method, sum(this.#closed.get(method) ?? none, { ...stream.metrics(), ...nothingHeld }))
    })
    this.#open.set(stream, method)
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

/** From the supervisor to the host. */
export type HostCommand =
  | {
      readonly type: "boot"
      readonly name: string
      readonly incarnation: number
      readonly config: unknown
      readonly control: MessagePort
    }
  | { readonly type: "attach-outbox"; readonly mailbox: string; readonly port: MessagePort }
  | {
      readonly type: "attach-inbox"
      readonly mailbox: string
      readonly sender: string
      readonly incarnation: number
      readonly port: MessagePort
    }
  | { readonly type: "metrics" }
  /** `answers`: outboxes of upstream links. Their receivers are senders that have already stopped, so they are not drained. */
  | { readonly type: "stop"; readonly drainMs: number; readonly answers: ReadonlyArray<string> }

/**
 * From the host to the supervisor. A crash has `refused` set if the body failed at start with a tagged error (a directory in use), as
 * opposed to a defect.
 */
export type HostEvent =
  | { readonly type: "running" }
  | { readonly type: "progress" }
  | { readonly type: "report"; readonly report: unknown }
  | { readonly type: "metrics"; readonly metrics: ActorMetrics }
  | { readonly type: "crashed"; readonly reason: string; readonly refused: boolean }
  | { readonly type: "stopped"; readonly drained: boolean }

/** Gauges and counters of one actor's life. */
export interface ActorMetrics {
  /** Bytes of the thread's JavaScript heap in use. Actors that share a thread report the same. */
  readonly heapUsedBytes: number
  /** Bytes outside the heap that the thread's objects hold, such as buffers and compression contexts. Excludes shared memory. */
  readonly externalBytes: number
  readonly outboxes: Readonly<Record<string, OutboxMetrics>>
  readonly inboxes: Readonly<Record<string, InboxMetrics>>
}

/** How the host speaks to its supervisor: a worker's parent port, or a channel in tests. */
interface HostChannel {
  post(event: HostEvent): void
  /** Ends the life after a crash: a worker exits, a local host stops sending. */
  end(): void
}

type AttachInbox = Extract<HostCommand, { readonly type: "attach-inbox" }>

export class ActorHost<Config, Control extends ControlInterface, Report> {
  readonly #definition: ActorDefinition<Config, Control, Report>
  readonly #body: ActorBody<Config, Control, Report>
  readonly #channel: HostChannel
  readonly #clock: Clock
  readonly #scope = Effect.runSync(Scope.make())
  readonly #outboxes = new Map<string, Outbox>()
  readonly #inboxes = new Map<string, Inbox>()
  /** Links made before the body created the mailbox: one port per outbox, any number per inbox. */
  readonly #earlyOutboxes = new Map<string, MessagePort>()
  readonly #earlyInboxes = new Map<string, Array<AttachInbox>>()
  readonly #streams: OpenStreams
  readonly #boot = new AbortController()
  #interruptCalls = (): void => undefined
  #booted: Promise<void> = Promise.resolve()
  #incarnation = 0
  #control: MessagePort | undefined
  #stopping = false
  #ended = false

  constructor(
    definition: ActorDefinition<Config, Control, Report>,
    body: ActorBody<Config, Control, Report>,
    channel: HostChannel,
    clock: Clock,
  ) {
    this.#definition = definition
    this.#body = body
    this.#channel = channel
    this.#clock = clock
    this.#streams = new OpenStreams(() => clock.monotonicMs())
  }

  receive(command: HostCommand): void {
    if (this.#ended) return
    switch (command.type) {
      case "boot":
        this.#start(command)
        return
      case "attach-outbox":
        this.#attachOutbox(command.mailbox, command.port)
        return
      case "attach-inbox":
        this.#attachInbox(command)
        return
      case "metrics":
        this.#channel.post({ type: "metrics", metrics: this.#metrics() })
        return
      case "stop":
        void this.#stop(command.drainMs, command.answers)
        return
    }
  }

  /** Ends this life at once, as a killed thread would: nothing is drained, no finalizer runs. For local hosts. */
  kill(): void {
    this.#ended = true
    this.#closePorts()
  }

  /** Ends this life at once, for the reason given. No effect if it has ended. */
  crash(cause: unknown): void {
    this.#crash(cause)
  }

  /**
   * Releases what the body has acquired, once this life has ended in a thread that continues. After a crash that is all
   * that can be done: a finalizer that fails then has nothing left to save, and the reason of the crash is known
   * already.
   */
  async release(): Promise<void> {
    this.#boot.abort()
    await this.#booted
    await Effect.runPromiseExit(Scope.close(this.#scope, Exit.void))
  }

  #start(command: Extract<HostCommand, { type: "boot" }>): void {
    this.#incarnation = command.incarnation
    this.#control = command.control
    const context: ActorContext<Config, Report> = {
      name: command.name,
      incarnation: command.incarnation,
      config: command.config as Config,
      clock: this.#clock,
      outbox: (mailbox, options) => this.#outbox(mailbox, options),
      closeOutbox: (mailbox) => this.#closeOutbox(mailbox),
      inbox: (mailbox, handler) => this.#inbox(mailbox, handler),
      report: (report) => {
        if (!this.#ended) this.#channel.post({ type: "report", report })
      },
      crash: (cause) => this.#crash(cause),
    }
    const started = Effect.suspend(() => this.#body(context)).pipe(Effect.provideService(Scope.Scope, this.#scope))
    this.#booted = Effect.runPromiseExit(started, { signal: this.#boot.signal })
      .then((exit) => {
        if (this.#ended) return
        if (Exit.isSuccess(exit)) {
          this.#interruptCalls = exposeControl(
            this.#definition.control,
            exit.value,
            command.control,
            (method, port, options) => this.#streams.open(method, port, options),
          )
          this.#channel.post({ type: "running" })
        } else if (!(this.#stopping && Cause.hasInterruptsOnly(exit.cause))) {
          this.#crash(Cause.squash(exit.cause), Cause.hasFails(exit.cause))
        }
      })
      .catch((cause: unknown) => this.#crash(cause))
  }

  #outbox(mailbox: string, options?: { readonly windowBytes?: number; readonly bufferBytes?: number }): Outbox {
    let outbox = this.#outboxes.get(mailbox)
    if (outbox === undefined) {
      outbox = new Outbox(mailbox, this.#incarnation, { ...options, now: () => this.#clock.monotonicMs() })
      this.#outboxes.set(mailbox, outbox)
      const early = this.#earlyOutboxes.get(mailbox)
      this.#earlyOutboxes.delete(mailbox)
      if (early !== undefined) outbox.attach(early)
    }
    return outbox
  }

  #closeOutbox(mailbox: string): void {
    this.#outboxes.get(mailbox)?.detach()
    this.#outboxes.delete(mailbox)
    this.#earlyOutboxes.get(mailbox)?.close()
    this.#earlyOutboxes.delete(mailbox)
  }

  #attachOutbox(mailbox: string, port: MessagePort): void {
    const outbox = this.#outboxes.get(mailbox)
    if (outbox !== undefined) {
      outbox.attach(port)
      return
    }
    // The outbox is not created here: only the body knows its window.
    this.#earlyOutboxes.get(mailbox)?.close()
    this.#earlyOutboxes.set(mailbox, port)
  }

  #inbox(mailbox: string, handler: InboxHandler): Inbox {
    if (this.#inboxes.has(mailbox)) throw new Error(`mailbox ${mailbox} has an inbox already`)
    const inbox = new Inbox(mailbox, handler, (error) => this.#crash(error))
    this.#inboxes.set(mailbox, inbox)
    // After the body's synchronous part, so that it has stored the inbox before frames arrive.
    queueMicrotask(() => {
      const early = this.#earlyInboxes.get(mailbox) ?? []
      this.#earlyInboxes.delete(mailbox)
      for (const command of early) this.#attachInbox(command)
    })
    return inbox
  }

  #attachInbox(command: AttachInbox): void {
    const { mailbox, sender, incarnation, port } = command
    const inbox = this.#inboxes.get(mailbox)
    const early = this.#earlyInboxes.get(mailbox)
    if (this.#ended) port.close()
    else if (early !== undefined) early.push(command)
    else if (inbox === undefined) this.#earlyInboxes.set(mailbox, [command])
    else {
      try {
        inbox.attach(sender, incarnation, port)
      } catch (cause) {
        this.#crash(cause)
      }
    }
  }

  #metrics(): ActorMetrics {
    const outboxes: Record<string, OutboxMetrics> = this.#streams.metrics()
    for (const [mailbox, outbox] of this.#outboxes) outboxes[mailbox] = outbox.metrics()
    const inboxes: Record<string, InboxMetrics> = {}
    for (const [mailbox, inbox] of this.#inboxes) inboxes[mailbox] = inbox.metrics()
    const { heapUsed, external } = process.memoryUsage()
    return { heapUsedBytes: heapUsed, externalBytes: external, outboxes, inboxes }
  }

  async #stop(drainMs: number, answers: ReadonlyArray<string>): Promise<void> {
    this.#stopping = true
    this.#boot.abort()
    await this.#booted
    if (this.#ended) return
    const closed = await Effect.runPromiseExit(Scope.close(this.#scope, Exit.void))
    if (Exit.isFailure(closed)) return this.#crash(Cause.squash(closed.cause))
    const drained = await this.#drain(drainMs, answers)
    if (this.#ended) return
    this.#ended = true
    this.#closePorts()
    this.#channel.post({ type: "stopped", drained })
    this.#channel.end()
  }

  /** True if every outbox but those of `answers` was acknowledged within `drainMs`. */
  #drain(drainMs: number, answers: ReadonlyArray<string>): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const timer = this.#clock.after(drainMs, () => resolve(false))
      const drained = [...this.#outboxes.values()].filter(({ mailbox }) => !answers.includes(mailbox))
      Promise.all(drained.map((outbox) => outbox.flushed())).then(() => {
        timer.cancel()
        resolve(true)
      }, reject)
    })
  }

  #crash(cause: unknown, refused = false): void {
    if (this.#ended) return
    this.#ended = true
    this.#channel.post({ type: "crashed", reason: describe(cause), refused })
    this.#closePorts()
    this.#channel.end()
  }

  #closePorts(): void {
    this.#interruptCalls()
    this.#streams.close()
    for (const outbox of this.#outboxes.values()) outbox.detach()
    for (const inbox of this.#inboxes.values()) inbox.close()
    for (const port of this.#earlyOutboxes.values()) port.close()
    for (const { port } of [...this.#earlyInboxes.values()].flat()) port.close()
    this.#control?.close()
  }
}

/** Defects keep their stack; the message of a tagged error is enough. */
const describe = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  return "_tag" in cause ? `${String(cause._tag)}: ${cause.message}` : (cause.stack ?? cause.message)
}

/**
 * A clock for one life in a thread that continues after it: the life's timers end with it, as they would with its own
 * thread.
 */
export class MortalClock implements Clock {
  readonly #clock: Clock
  readonly #timers = new Set<Timer>()
  #isOver = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wallMicros(): number {
    return this.#clock.wallMicros()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  after(delayMs: number, action: () => void): Timer {
    if (this.#isOver) return { cancel: () => undefined }
    const running = this.#clock.after(delayMs, () => {
      this.#timers.delete(timer)
      action()
    })
    const timer: Timer = {
      cancel: () => {
        this.#timers.delete(timer)
        running.cancel()
      },
    }
    this.#timers.add(timer)
    return timer
  }

  /** Cancels all timers, and those that are asked for later. */
  end(): void {
    this.#isOver = true
    for (const timer of [...this.#timers]) timer.cancel()
  }
}
