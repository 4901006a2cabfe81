/**
 * The control plane: typed calls to an actor over comlink, with what comlink lacks.
 *
 * - Every call has a deadline, and fails with `ActorGone` when the thread ends. A comlink call to a dead worker never
 *   settles (measured).
 * - Payloads, results and errors cross Schema-encoded: a tagged error thrown through comlink arrives without its tag
 *   (measured).
 * - The proxy is pinned by the caller object for as long as that lives: comlink silently drops the calls in flight of a
 *   proxy that is garbage-collected (GoogleChromeLabs/comlink#692).
 *
 * Control calls are for rare things: start, stop, ask for metrics. Never one per event.
 */
import type { MessagePort } from "node:worker_threads"
import * as Comlink from "comlink"
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { Clock } from "./clock.ts"
import { ActorGone, CallDeadlineExceeded, CallDefect, type CallError } from "./errors.ts"

/** One method: what it takes, what it answers, and the domain errors it can fail with. */
export interface ControlMethod {
  readonly payload: Schema.ConstraintCodec<unknown, unknown>
  readonly success: Schema.ConstraintCodec<unknown, unknown>
  readonly error: Schema.ConstraintCodec<unknown, unknown>
}

/** What an actor can be asked. */
export type ControlInterface = Readonly<Record<string, ControlMethod>>

/** The actor's side: one Effect per method. */
export type ControlHandlers<I extends ControlInterface> = {
  readonly [M in keyof I]: (
    payload: I[M]["payload"]["Type"],
  ) => Effect.Effect<I[M]["success"]["Type"], I[M]["error"]["Type"]>
}

/** ms a call may take unless it says otherwise: long enough for a busy actor's longest batch, short enough for a probe. */
export const defaultDeadlineMs = 5000

type Reply =
  | { readonly tag: "success"; readonly value: unknown }
  | { readonly tag: "failure"; readonly error: unknown }
  | { readonly tag: "defect"; readonly description: string }

/** The one thing that comlink exposes. */
interface Remote {
  call(method: string, payload: unknown): Promise<Reply>
}

/** Answers calls that arrive at `port` until it is closed. */
export const exposeControl = <I extends ControlInterface>(
  definition: I,
  handlers: ControlHandlers<I>,
  port: MessagePort,
): void => {
  const remote: Remote = {
    async call(method, payload) {
      const schema = definition[method]
      const handler = handlers[method]
      if (schema === undefined || handler === undefined) return { tag: "defect", description: `no method ${method}` }
      const answer = Schema.decodeUnknownEffect(schema.payload)(payload).pipe(
        Effect.orDie,
        Effect.flatMap((decoded) => handler(decoded)),
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
      const exit = await Effect.runPromiseExit(answer)
      return Exit.isSuccess(exit) ? exit.value : { tag: "defect", description: Cause.pretty(exit.cause) }
    },
  }
  Comlink.expose(remote, nodeEndpoint(port))
}

/** The caller's side of one life of an actor. */
export class ControlCaller<I extends ControlInterface> {
  readonly #actor: string
  readonly #definition: I
  readonly #clock: Clock
  readonly #remote: Comlink.Remote<Remote>
  readonly #port: MessagePort
  /** Calls in flight, to fail when the actor goes. */
  readonly #pending = new Set<(error: ActorGone) => void>()
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
    const schema = this.#definition[method] as I[M]
    return Schema.encodeUnknownEffect(schema.payload)(payload).pipe(
      Effect.orDie,
      Effect.flatMap((encoded) => this.#exchange(method, encoded, deadlineMs)),
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
    for (const fail of this.#pending) fail(error)
    this.#pending.clear()
    this.#port.close()
  }

  #exchange(method: string, encoded: unknown, deadlineMs: number): Effect.Effect<Reply, CallError> {
    return Effect.callback<Reply, CallError>((resume) => {
      if (this.#gone !== undefined) {
        resume(Effect.fail(this.#gone))
        return
      }
      const settle = (outcome: Effect.Effect<Reply, CallError>): void => {
        timer.cancel()
        this.#pending.delete(lost)
        resume(outcome)
      }
      const lost = (error: ActorGone): void => settle(Effect.fail(error))
      const timer = this.#clock.after(deadlineMs, () =>
        settle(Effect.fail(new CallDeadlineExceeded({ actor: this.#actor, method, deadline: deadlineMs }))),
      )
      this.#pending.add(lost)
      const abandoned = Effect.sync(() => {
        timer.cancel()
        this.#pending.delete(lost)
      })
      this.#remote.call(method, encoded).then(
        (reply) => settle(Effect.succeed(reply)),
        (cause: unknown) =>
          settle(Effect.fail(new CallDefect({ actor: this.#actor, method, description: String(cause) }))),
      )
      return abandoned
    })
  }
}
