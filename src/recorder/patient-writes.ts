/**
 * What the recorder itself has the store write down, such as the end of a kind's recording: each is tried until the store has it or
 * is stopped. A store that starts again, or whose disk is full, must not make such a fact vanish without a trace; what could not
 * be written by the end is named.
 *
 * Each write must be one that may be repeated: whether the last try had its effect is not always known.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type { ActorGone } from "../runtime/errors.ts"
import type { ActorState } from "../runtime/supervisor.ts"

/** ms between tries to reach a store that starts, or that cannot write. */
const retryMs = 500

/** The store, as far as it is waited for. */
export interface AwaitedStore {
  readonly state: ActorState
  running(): Effect.Effect<void, ActorGone>
}

/** Tries what is asked of the store until it succeeds; fails, with the last reason, once the store is stopped or given up. */
export const patiently = <A, E>(store: AwaitedStore, asked: Effect.Effect<A, E>): Effect.Effect<A, E | ActorGone> =>
  store.running().pipe(
    Effect.andThen(asked),
    Effect.retry({
      while: () => store.state !== "stopped" && store.state !== "gave-up",
      schedule: Schedule.spaced(retryMs),
    }),
  )

type RunWrite = (write: Effect.Effect<unknown, unknown>) => Fiber.Fiber<unknown, unknown>

export class PatientWrites {
  readonly #run: RunWrite
  readonly #pending = new Map<string, Fiber.Fiber<unknown, unknown>>()

  /** `run` starts a write in the scope that all of them live in. */
  constructor(run: RunWrite) {
    this.#run = run
  }

  /** Begins to write; `what` says it in words, and takes the place of a write of those words that is still being tried. */
  put(what: string, write: Effect.Effect<unknown, unknown>): void {
    this.#pending.get(what)?.interruptUnsafe()
    const fiber = this.#run(write)
    this.#pending.set(what, fiber)
    fiber.addObserver((exit) => {
      if (exit._tag === "Success" && this.#pending.get(what) === fiber) this.#pending.delete(what)
    })
  }

  /** The store is stopped: gives up, and answers what was never written. */
  close(): ReadonlyArray<string> {
    const unwritten = [...this.#pending.keys()]
    for (const fiber of this.#pending.values()) fiber.interruptUnsafe()
    this.#pending.clear()
    return unwritten
  }
}
