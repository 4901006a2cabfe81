/**
 * Facts that the recorder itself writes to the store, such as the end of a kind's recording: each is retried until the store has it or is
 * stopped. A store that is restarting, or whose disk is full, must not lose such a fact silently; what could not be written by the end is
 * reported.
 *
 * Each write must be repeatable, because it is not always known whether the last attempt succeeded.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type { ActorGone, ActorState } from "../../runtime/index.ts"

/** ms between attempts while the store is starting or cannot write. */
const retryMs = 500

/** The part of the store that a write waits for. */
export interface AwaitedStore {
  readonly state: ActorState
  running(): Effect.Effect<void, ActorGone>
}

/** Repeats a call to the store until it succeeds; fails with the last reason once the store is stopped or keeps crashing. */
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

  /** What every recording has to have, also one that replaces a damaged one. */
  readonly #kept = new Map<string, Effect.Effect<unknown, unknown>>()

  /** `run` starts a write in the scope of all writes. */
  constructor(run: RunWrite) {
    this.#run = run
  }

  /** Starts a write; `what` describes it, and replaces a pending write with the same description. */
  put(what: string, write: Effect.Effect<unknown, unknown>): void {
    this.#pending.get(what)?.interruptUnsafe()
    const fiber = this.#run(write)
    this.#pending.set(what, fiber)
    fiber.addObserver((exit) => {
      if (exit._tag === "Success" && this.#pending.get(what) === fiber) this.#pending.delete(what)
    })
  }

  /** As {@link put}, and again for each recording that is begun later. */
  keep(what: string, write: Effect.Effect<unknown, unknown>): void {
    this.#kept.set(what, write)
    this.put(what, write)
  }

  /** Call when a new recording has none of what was kept in the old one. */
  again(): void {
    for (const [what, write] of this.#kept) this.put(what, write)
  }

  /** Call when the store is stopped: stops retrying and returns the writes that never succeeded. */
  close(): ReadonlyArray<string> {
    const unwritten = [...this.#pending.keys()]
    for (const fiber of this.#pending.values()) fiber.interruptUnsafe()
    this.#pending.clear()
    return unwritten
  }
}
