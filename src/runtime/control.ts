/**
 * The control plane: typed calls to an actor over comlink, with the guarantees that comlink lacks. Never one per event.
 *
 * - Every call has a deadline, which begins anew when the actor says that it makes progress (src/progress.ts), and fails with `ActorGone` when the thread ends; a
 *   comlink call to a dead worker never settles. One that is interrupted, or misses its deadline, interrupts its handler at its next asynchronous step.
 * - Payloads, results and errors cross Schema-encoded: a tagged error thrown through comlink arrives without its tag.
 * - The proxy is pinned by the caller object: comlink drops the calls in flight of one that is garbage-collected (GoogleChromeLabs/comlink#692).
 *
 * A method may also return a stream: a mailbox of its own, whose port the call carries (stream.ts).
 */
import { AsyncLocalStorage } from "node:async_hooks"
import { MessageChannel, type MessagePort } from "node:worker_threads"
import * as Comlink from "comlink"
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { Clock } from "../clock.ts"
import { ActorGone, CallDeadlineExceeded, CallDefect, type CallError } from "./errors.ts"
import { IncomingStream, type OutgoingStream, type StreamOptions, type StreamReceiver } from "./stream.ts"

/** One method: its payload, its result, and the domain errors it can fail with. */
export interface ControlMethod {
  readonly payload: Schema.ConstraintCodec<unknown, unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly error: Schema.ConstraintCodec<unknown, unknown>
  /** The method also returns a stream; it is called with `stream` instead of `call`. Default: it does not. */
  readonly stream?: StreamOptions
}

type StreamOf<Method> = Method extends { readonly stream: StreamOptions }
  ? readonly [stream: OutgoingStream]
  : readonly []

/** The methods that an actor serves. */
export type ControlInterface = Readonly<Record<string, ControlMethod>>

/**
 * The actor's side: one Effect per method. For a method with a stream, its result says whether the stream comes; the stream continues after
 * that.
 */
export type ControlHandlers<I extends ControlInterface> = {
  readonly [M in keyof I]: (
    payload: I[M]["payload"]["Type"],
    ...stream: StreamOf<I[M]>
  ) => Effect.Effect<I[M]["success"]["Type"], I[M]["error"]["Type"]>
}

/** A stream as its caller sees it. */
export interface OpenedStream<Success> {
  readonly answer: Success
  /** Cancels the rest of the stream; the receiver gets no further calls. */
  readonly close: () => void
}

/** Default deadline of a call in ms: long enough for a busy actor's longest batch, short enough for a probe. */
export const defaultDeadlineMs = 5000

type Reply =
  | { readonly tag: "success"; readonly value: unknown }
  | { readonly tag: "failure"; readonly error: unknown }
  | { readonly tag: "defect"; readonly description: string }

/** The only object that comlink exposes. */
interface Remote {
  /** `id` is chosen by the caller, for cancelling the call. */
  call(id: number, method: string, payload: unknown, stream: MessagePort | undefined): Promise<Reply>
  cancel(id: number): void
}

/** Creates the sending end of the stream whose port a call carried. */
type OpenStream = (method: string, port: MessagePort, options: StreamOptions) => OutgoingStream

type Handler = (payload: unknown, stream?: OutgoingStream) => Effect.Effect<unknown, unknown>

const noStreams: OpenStream = (method) => {
  throw new Error(`${method} cannot open a stream here`)
}

/** Serves calls that arrive at `port` until it is closed. Returns a function that interrupts running handlers. */
export const exposeControl = <I extends ControlInterface>(
  definition: I,
  handlers: ControlHandlers<I>,
  port: MessagePort,
  open: OpenStream = noStreams,
): (() => void) => {
  const running = new Map<number, AbortController>()
  // With the actor's asynchronous context, which a port has not: what a handler begins is known to be the actor's (worker.ts).
  const inContext = AsyncLocalStorage.snapshot()
  const remote: Remote = {
    call: (id, method, payload, stream) => inContext(() => answer(id, method, payload, stream)),
    cancel(id) {
      running.get(id)?.abort()
    },
  }
  const answer: Remote["call"] = async (id, method, payload, stream) => {
    const schema = definition[method]
    const handler = handlers[method] as Handler | undefined
    if (schema === undefined || handler === undefined) return { tag: "defect", description: `no method ${method}` }
    const { stream: options } = schema
    if ((options === undefined) !== (stream === undefined))
      return { tag: "defect", description: `${method} ${options === undefined ? "has no" : "needs a"} stream` }
    const outgoing = options && stream && open(method, stream, options)
    const result = Schema.decodeUnknownEffect(schema.payload)(payload).pipe(
      Effect.orDie,
      Effect.flatMap((decoded) => (outgoing === undefined ? handler(decoded) : handler(decoded, outgoing))),
      Effect.matchEffect({
        onSuccess: (value) =>
          Schema.encodeUnknownEffect(schema.success)(value).pipe(
            Effect.orDie,
            Effect.map((encoded): Reply => ({ tag: "success", value: encoded })),
          ),
        onFailure: (error) =>
          Schema.encodeUnknownEffect(schema.error)(error).pipe(
            Effect.orDie,
            Effect.map((encoded): Reply => ({ tag: "failure", error: encoded })),
          ),
      }),
    )
    const interruption = new AbortController()
    running.set(id, interruption)
    const exit = await Effect.runPromiseExit(result, { signal: interruption.signal })
    running.delete(id)
    return Exit.isSuccess(exit) ? exit.value : { tag: "defect", description: Cause.pretty(exit.cause) }
  }
  Comlink.expose(remote, nodeEndpoint(port))
  return () => {
    for (const interruption of running.values()) interruption.abort()
  }
}

/** The caller's side of one life of an actor. */
export class ControlCaller<I extends ControlInterface> {
  readonly #actor: string
  readonly #definition: I
  readonly #clock: Clock
  readonly #remote: Comlink.Remote<Remote>
  readonly #port: MessagePort
  /** Calls in flight, which fail when the actor ends. */
  readonly #pending = new Set<{ readonly fail: (error: ActorGone) => void; readonly renew: () => void }>()
  readonly #streams = new Set<IncomingStream>()
  #lastId = 0
  #gone: ActorGone | undefined

  constructor(actor: string, definition: I, port: MessagePort, clock: Clock) {
    this.#actor = actor
    this.#definition = definition
    this.#clock = clock
    this.#port = port
    this.#remote = Comlink.wrap<Remote>(nodeEndpoint(port))
  }

  call<M extends keyof I & string>(
    method: M,
    payload: I[M]["payload"]["Type"],
    deadlineMs = defaultDeadlineMs,
  ): Effect.Effect<I[M]["success"]["Type"], I[M]["error"]["Type"] | CallError> {
    return this.#call(method, payload, deadlineMs)
  }

  /**
   * Calls a method that returns a stream. The receiver may get frames before the call has settled; it gets nothing more once the call has
   * failed or was interrupted.
   */
  stream<M extends keyof I & string>(
    method: M,
    payload: I[M]["payload"]["Type"],
    receiver: StreamReceiver,
    deadlineMs = defaultDeadlineMs,
  ): Effect.Effect<OpenedStream<I[M]["success"]["Type"]>, I[M]["error"]["Type"] | CallError> {
    return Effect.suspend(() => {
      const { port1, port2 } = new MessageChannel()
      const incoming = new IncomingStream(method, port1, receiver, () => this.#streams.delete(incoming))
      this.#streams.add(incoming)
      const close = (): void => incoming.close()
      return this.#call(method, payload, deadlineMs, port2).pipe(
        Effect.map((answer) => ({ answer, close })),
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.sync(close))),
      )
    })
  }

  #call<M extends keyof I & string>(
    method: M,
    payload: I[M]["payload"]["Type"],
    deadlineMs: number,
    stream?: MessagePort,
  ): Effect.Effect<I[M]["success"]["Type"], I[M]["error"]["Type"] | CallError> {
    const schema = this.#definition[method] as I[M]
    return Schema.encodeUnknownEffect(schema.payload)(payload).pipe(
      Effect.orDie,
      Effect.flatMap((encoded) => this.#exchange(method, encoded, deadlineMs, stream)),
      Effect.flatMap((reply): Effect.Effect<I[M]["success"]["Type"], I[M]["error"]["Type"] | CallError> => {
        if (reply.tag === "success") return Schema.decodeUnknownEffect(schema.success)(reply.value).pipe(Effect.orDie)
        if (reply.tag === "failure") {
          return Schema.decodeUnknownEffect(schema.error)(reply.error).pipe(Effect.orDie, Effect.flatMap(Effect.fail))
        }
        return Effect.fail(new CallDefect({ actor: this.#actor, method, description: reply.description }))
      }),
    )
  }

  /** The thread has ended: fails the calls in flight and all later ones. */
  gone(reason: string): void {
    if (this.#gone !== undefined) return
    const error = new ActorGone({ actor: this.#actor, reason })
    this.#gone = error
    for (const { fail } of this.#pending) fail(error)
    this.#pending.clear()
    for (const stream of [...this.#streams]) stream.gone(reason)
    this.#port.close()
  }

  /** Deadlines of calls in flight begin anew. */
  progressed(): void {
    for (const { renew } of this.#pending) renew()
  }

  #exchange(
    method: string,
    encoded: unknown,
    deadlineMs: number,
    stream: MessagePort | undefined,
  ): Effect.Effect<Reply, CallError> {
    return Effect.callback<Reply, CallError>((resume) => {
      if (this.#gone !== undefined) {
        resume(Effect.fail(this.#gone))
        return
      }
      const settle = (outcome: Effect.Effect<Reply, CallError>): void => {
        timer.cancel()
        this.#pending.delete(call)
        resume(outcome)
      }
      const id = ++this.#lastId
      const startTimer = () =>
        this.#clock.after(deadlineMs, () => {
          this.#cancel(id)
          settle(Effect.fail(new CallDeadlineExceeded({ actor: this.#actor, method, deadline: deadlineMs })))
        })
      let timer = startTimer()
      const call = {
        fail: (error: ActorGone) => settle(Effect.fail(error)),
        renew: () => {
          timer.cancel()
          timer = startTimer()
        },
      }
      this.#pending.add(call)
      const abandoned = Effect.sync(() => {
        timer.cancel()
        if (this.#pending.delete(call)) this.#cancel(id)
      })
      this.#remote.call(id, method, encoded, stream && Comlink.transfer(stream, [stream])).then(
        (reply) => settle(Effect.succeed(reply)),
        (cause: unknown) =>
          settle(Effect.fail(new CallDefect({ actor: this.#actor, method, description: String(cause) }))),
      )
      return abandoned
    })
  }

  /** Not waited for: an actor that does not respond to the call will not respond to this either. */
  #cancel(id: number): void {
    void Promise.allSettled([this.#remote.cancel(id)])
  }
}
