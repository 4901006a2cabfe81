import * as Effect from "effect/Effect"
import type { ActorBody, ActorContext } from "../../src/runtime/actor.ts"
import { ActorSystem } from "../../src/runtime/actor-system.ts"
import type { ActorGaveUp } from "../../src/runtime/errors.ts"
import type { ActorState, RestartPolicy, Supervisor } from "../../src/runtime/supervisor.ts"
import { localThread } from "../../src/runtime/thread.ts"
import { ManualClock } from "./manual-clock.ts"

type Nothing = Record<string, never>
/** An actor without control calls; its config is a number. */
export type LocalBody = ActorBody<number, Nothing, string>
export type LocalContext = ActorContext<number, string>
export type LocalActor = Supervisor<number, Nothing, string>

export interface LocalOptions {
  readonly config?: () => number | Promise<number>
  readonly incarnation?: () => number | Promise<number>
  readonly restart?: RestartPolicy
  readonly onGaveUp?: (error: ActorGaveUp) => void
}

/**
 * Actors in the thread of the test, on a clock that the test moves. Jitter is half of its maximum, so a delay is 1.5 times its base.
 */
export class LocalActors {
  readonly clock = new ManualClock()
  readonly system: ActorSystem
  /** `name state: reason` of every change, in order. */
  readonly changes: Array<string> = []
  /** `name: report`, in order. */
  readonly reports: Array<string> = []

  constructor(drainMs = 5000) {
    this.system = new ActorSystem({ clock: this.clock, random: () => 0.5, drainMs })
  }

  spawn(name: string, body: LocalBody, options: LocalOptions = {}): LocalActor {
    let lives = 0
    const definition = { role: "toy", control: {} }
    return this.system.spawn<number, Nothing, string>({
      definition,
      name,
      start: localThread(definition, body, this.clock),
      config: () => 0,
      incarnation: () => ++lives,
      onStateChange: (state, reason) => this.changes.push(`${name} ${state}: ${reason.split("\n")[0]}`),
      onReport: (report) => this.reports.push(`${name}: ${report}`),
      ...options,
    })
  }

  /** How often an actor has entered a state. */
  count(name: string, state: ActorState): number {
    return this.changes.filter((change) => change.startsWith(`${name} ${state}:`)).length
  }
}

/** A body that does its work when it starts and then stays idle. */
export const simple = (work: (context: LocalContext) => void): LocalBody => {
  return (context) =>
    Effect.sync(() => {
      work(context)
      return {}
    })
}
