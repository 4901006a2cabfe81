/** The body of a script thread: its mailbox and its calls. */
import * as Effect from "effect/Effect"
import type { Clock, Timer } from "../../../clock.ts"
import type { ActorBody } from "../../../runtime/index.ts"
import { EntryMark } from "../../dispatcher/worker/entry-mark.ts"
import { readDeliveries } from "../../hub/deliveries.ts"
import { deliveriesMailbox } from "../../hub/hub-interface.ts"
import { ScriptRefused } from "./load-script.ts"
import { ScriptThread } from "./script-thread.ts"
import type { ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport } from "./script-thread-interface.ts"

export const scriptThreadBody: ActorBody<ScriptThreadConfig, ScriptThreadControl, ScriptThreadReport> = (context) =>
  Effect.gen(function* () {
    const { config, clock, name, report } = context
    const pulse = new Pulse(new EntryMark(config.entryMark), clock)
    const scripts = new ScriptThread({
      clock,
      random: Math.random,
      report,
      pulse,
      lastSubscription: config.lastSubscription,
    })
    const deliveries = context.inbox(deliveriesMailbox(name), {
      attached: () => undefined,
      frame: (sender, { incarnation, number, payload }) => {
        scripts.deliver(readDeliveries(payload))
        deliveries.acknowledge(sender, incarnation, number)
      },
    })
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => scripts.close()).pipe(Effect.ensuring(Effect.sync(() => pulse.stop()))),
    )
    return {
      start: (assignment) =>
        Effect.tryPromise({
          try: (signal) => scripts.start(assignment, signal),
          catch: (cause) => {
            if (cause instanceof ScriptRefused) return cause
            throw cause
          },
        }),
      review: (call) => Effect.promise(() => scripts.review(call)),
      stop: (module) => Effect.promise(() => scripts.stop(module)),
      credentials: ({ module, endpoint }) => Effect.sync(() => scripts.credentials(module, endpoint)),
      settle: ({ question, refusal }) => Effect.sync(() => scripts.settle(question, refusal)),
      endWatch: ({ subscription, reason }) => Effect.sync(() => scripts.endWatch(subscription, reason)),
      ping: () => Effect.void,
      statistics: () => Effect.sync(() => scripts.statistics()),
    }
  })

/** ms between two beats: some fraction of the time after which the thread counts as stuck. */
export const beatMs = 1000

/**
 * Shows the main thread that this one is busy, and that its event loop still turns: one entry of the mark for each beat. While nothing is done, there
 * is no beat and no timer.
 */
export class Pulse {
  readonly #mark: Pick<EntryMark, "begin" | "end">
  readonly #clock: Pick<Clock, "after">
  #active = 0
  #timer: Timer | undefined

  constructor(mark: Pick<EntryMark, "begin" | "end">, clock: Pick<Clock, "after">) {
    this.#mark = mark
    this.#clock = clock
  }

  /** Something begins. Call what it returns when that has ended, once. */
  begin(): () => void {
    this.#active++
    if (this.#timer === undefined) this.#beat()
    return () => {
      this.#active--
    }
  }

  stop(): void {
    if (this.#timer === undefined) return
    this.#timer.cancel()
    this.#timer = undefined
    this.#mark.end()
  }

  #beat(): void {
    this.#mark.begin(0)
    this.#timer = this.#clock.after(beatMs, () => {
      this.#mark.end()
      this.#timer = undefined
      if (this.#active > 0) this.#beat()
    })
  }
}
