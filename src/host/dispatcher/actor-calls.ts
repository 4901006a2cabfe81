/** Calls to actors from code that is driven by their reports, not by a fiber: the host's edge to Effect. */
import * as Effect from "effect/Effect"

/** What the call returns; rejects with its error. */
export const ask = <Value>(call: Effect.Effect<Value, unknown>): Promise<Value> => Effect.runPromise(call)

/** What the call returns, and `otherwise` if it fails: the actor is gone or busy, and what it knew with it. */
export const askOr = <Value>(call: Effect.Effect<Value, unknown>, otherwise: Value): Promise<Value> =>
  Effect.runPromise(Effect.catch(call, () => Effect.succeed(otherwise)))

/** Resolves with the error of the call; with `undefined` if it succeeds. */
export const failureOf = (call: Effect.Effect<unknown, unknown>): Promise<unknown> =>
  Effect.runPromise(
    Effect.match(call, {
      onSuccess: () => undefined,
      onFailure: (error) => error ?? new Error("the call failed without a reason"),
    }),
  )

/** For what has no effect on an actor that is gone. Calls to one actor arrive in the order in which they are made. */
export const tell = (call: Effect.Effect<unknown, unknown>): void => void failureOf(call)
